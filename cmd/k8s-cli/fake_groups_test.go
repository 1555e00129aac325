package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/overview"
)

// groups returns the groups of the caller, newest first.
func (f *fakeServer) groups(r *http.Request) (all []group.Group) {
	at := map[string]int{}
	for _, s := range f.tasks {
		name := s.Metadata.Group
		if name == "" || !sees(r, s.Metadata.User) {
			continue
		}
		if _, known := at[name]; !known {
			at[name] = len(all)
			all = append(all, group.Group{
				Name: name, User: s.Metadata.User, ByStatus: overview.Counts{}, SubmittedAt: time.Now().Add(-time.Hour), StartedAt: new(time.Now().Add(-50 * time.Minute)),
			})
		}
		g := &all[at[name]]
		g.Total++
		g.ByStatus[s.Phase]++
		if s.Phase == task.Failed && g.First == nil {
			g.First = &group.Failure{ID: s.ID, Name: s.Name, Reason: "Error", ExitCode: new(3), Point: s.Metadata.Annotations[task.AnnotationPoint]}
		}
	}
	newest := make([]group.Group, 0, len(all))
	for i := range all {
		g := all[len(all)-1-i]
		g.Phase, g.Progress = group.Status(g.ByStatus), float64(g.Over())/float64(g.Total)
		if g.Over() == g.Total {
			g.EndedAt = new(g.StartedAt.Add(90 * time.Second))
		}
		newest = append(newest, g)
	}
	return newest
}

func (f *fakeServer) listGroups(r *http.Request) (any, error) {
	return group.List{Groups: f.groups(r)}, nil
}

func (f *fakeServer) group(r *http.Request) (any, error) {
	for _, g := range f.groups(r) {
		if g.Name == r.PathValue("group") {
			return g, nil
		}
	}
	return nil, fmt.Errorf("Group %q not found", r.PathValue("group"))
}

// groupEvents returns one event for each task of a group. Tasks with the variable THEN end when a
// client has subscribed.
func (f *fakeServer) groupEvents(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var l task.EventList
	for i := range f.tasks {
		s := &f.tasks[i]
		if s.Metadata.Group != r.FormValue("group") || !sees(r, s.Metadata.User) {
			continue
		}
		l.Events = append(l.Events, task.Event{
			ID: task.EventID{Seq: 2, N: i + 1}, Time: at(i), Type: task.EventPhase, Kind: task.KindTask, TaskID: s.ID, Name: s.Name,
			User: s.Metadata.User, Group: s.Metadata.Group, Status: string(s.Phase), Annotations: s.Metadata.Annotations,
		})
	}
	if r.Header.Get("Accept") != "text/event-stream" {
		_ = json.NewEncoder(w).Encode(l)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
	for _, e := range l.Events {
		s := &f.tasks[e.ID.N-1]
		if then := task.Phase(f.specs[s.ID].Envs["THEN"]); then != "" {
			s.Phase = then
		}
		e.Status = string(s.Phase)
		raw, _ := json.Marshal(e)
		fmt.Fprintf(w, "id: %s\ndata: %s\n\n", e.ID, raw)
	}
	_ = http.NewResponseController(w).Flush()
	f.mu.Unlock()
	<-r.Context().Done() // a stream of several tasks has no end
	f.mu.Lock()
}
