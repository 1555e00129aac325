package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// Volumes writes volumes as a table, in the given order.
func Volumes(w io.Writer, s Style, volumes []task.VolumeStatus, c Columns) {
	volumeTable(volumes, c).write(w, s)
}

func volumeTable(volumes []task.VolumeStatus, c Columns) table {
	now := time.Now()
	t := table{rows: len(volumes)}
	t.column("Volume ID", func(i int) string { return volumes[i].ID })
	t.column("Name", func(i int) string { return volumes[i].Name })
	t.column("Size", func(i int) string { return volumes[i].Size })
	t.column("Status", func(i int) string { return volumes[i].Phase })
	t.add(column{header: "Created", drop: 3}, func(i int) string { return volumes[i].CreatedAt.UTC().Format(shortTime) })
	if c.User {
		t.add(column{header: "User", drop: 7}, func(i int) string { return userOf(volumes[i].Metadata.User, volumes[i].Username) })
	}
	if c.Details {
		t.add(column{header: "Storage Class", drop: 6}, func(i int) string { return storageClass(volumes[i]) })
		t.add(column{header: "Access Modes", drop: 5}, func(i int) string { return strings.Join(volumes[i].AccessModes, ",") })
		t.add(column{header: "PVC Name", drop: 4}, func(i int) string { return volumes[i].Metadata.ClaimName })
	}
	t.add(column{header: "Age", drop: 8}, func(i int) string { return Since(seconds(&volumes[i].CreatedAt), now) })
	if c.Reason {
		t.add(column{header: "Reason", shrink: 1, drop: 2}, func(i int) string { return Reason(volumes[i].Metadata.Reason, volumes[i].Metadata.Message) })
	}
	return t
}

// Volume writes all details of one volume.
func Volume(w io.Writer, s Style, v task.VolumeStatus) {
	fmt.Fprintln(w, s.paint(bold, "Volume Details"))
	writeFields(w, s, []Field{
		{"Volume ID", v.ID},
		{"Name", v.Name},
		{"Size", v.Size},
		{"Status", v.Phase},
		{"Storage Class", orDash(storageClass(v))},
		{"Access Modes", strings.Join(v.AccessModes, ", ")},
		{"Created", orDash(moment(&v.CreatedAt))},
	})
	fmt.Fprintln(w, "\n"+s.paint(bold, "Metadata"))
	fields := []Field{
		{"pvc_name", v.Metadata.ClaimName},
		{"namespace", v.Metadata.Namespace},
		{"user", userOf(v.Metadata.User, v.Username)},
		{"reason", v.Metadata.Reason},
		{"message", v.Metadata.Message},
		{"hint", v.Metadata.Hint},
	}
	writeFields(w, s, slices.DeleteFunc(fields, Field.empty))
}

func storageClass(v task.VolumeStatus) string {
	if v.StorageClass == nil {
		return ""
	}
	return *v.StorageClass
}
