package submit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

// adopt makes a record for Jobs that the log does not contain, from their annotations, or from
// the labels of the original launcher if AdoptLegacy is set. adopt ignores Jobs without that
// information and Jobs that contradict it.
func (c *Controller) adopt(ctx context.Context, v task.View, seen readPoint) error {
	i := slices.IndexFunc(v.Orphans, func(j *task.Job) bool {
		return j.User != "" && j.Hash != "" && !j.Deleting && (!j.Legacy || c.config.AdoptLegacy)
	})
	if i < 0 {
		return nil
	}
	job := v.Orphans[i]
	live, err := c.jobs.Get(ctx, job.Name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(fmt.Errorf("get job %s: %w", job.Name, err))
	}
	f, ok := adoptedTask(live, job)
	if !ok || f.Hash != job.Hash || live.DeletionTimestamp != nil {
		return nil
	}
	names := task.JobNames(f.Submit.Task.Name, f.Submit.ID, f.Submit.Task.Nodes())
	for _, j := range v.Orphans {
		if j.Rank < len(names) && names[j.Rank] == j.Name && j.User == f.Submit.User && j.Hash == f.Hash {
			f.UIDs[j.Rank] = j.UID
		}
	}
	if !slices.Contains(f.UIDs, job.UID) {
		if job.Legacy {
			c.config.Logger.Warn("not adopting a Job that another program created: the name of the Job differs from the name that this server would give", "job", job.Name, "want", names)
		}
		return nil
	}
	c.restoreService(ctx, f, seen)
	c.config.Logger.Info("adopting a Job that the command log does not know", "task", job.TaskID, "job", job.Name)
	return c.append(ctx, task.Command{Adopted: f})
}

// adoptedTask decodes the annotations that objects.Jobs writes.
func adoptedTask(job *batchv1.Job, seen *task.Job) (*task.Adopted, bool) {
	if seen.Legacy {
		s, ok := task.LegacySubmit(job.Labels, job.Annotations)
		if !ok {
			return nil, false
		}
		return &task.Adopted{Submit: &s, Hash: s.Hash(), CreatedAt: job.CreationTimestamp.UTC(), UIDs: make([]string, s.Task.NumNodes)}, true
	}
	nodes, err := strconv.Atoi(job.Annotations[task.AnnotationNodes])
	created, wrong := time.Parse(time.RFC3339Nano, job.Annotations[task.AnnotationCreated])
	if err != nil || wrong != nil || nodes < 1 || nodes > task.MaxNodes {
		return nil, false
	}
	group, ok := jobGroupOf(job, nodes)
	if !ok {
		return nil, false
	}
	var own map[string]string
	_ = json.Unmarshal([]byte(job.Annotations[task.AnnotationOwn]), &own) // without valid annotations, the task has none
	return &task.Adopted{
		Submit: &task.Submit{
			ID:       seen.TaskID,
			User:     job.Annotations[task.AnnotationUser],
			Group:    job.Labels[task.LabelGroup],
			JobGroup: group,
			Task:     task.Spec{Name: job.Annotations[task.AnnotationName], NumNodes: nodes, MaxDuration: job.Annotations[task.AnnotationMaxDuration], Annotations: own},
		},
		Hash:      job.Annotations[task.AnnotationSubmission],
		CreatedAt: created,
		UIDs:      make([]string, nodes),
	}, true
}

// jobGroupOf returns the membership that the annotation of a Job describes or nil. ok is false if
// the annotation is not valid.
func jobGroupOf(job *batchv1.Job, nodes int) (g *task.JobGroup, ok bool) {
	raw := job.Annotations[task.AnnotationJobGroup]
	if raw == "" {
		return nil, true
	}
	err := json.Unmarshal([]byte(raw), &g)
	return g, err == nil && g != nil && g.ID != "" && 0 <= g.Index && g.Index < g.Tasks && nodes <= g.Jobs
}

// adoptVolume makes a record for a claim that the log does not contain.
func (c *Controller) adoptVolume(ctx context.Context, v task.VolumeView) error {
	if v.Claim == nil || v.Claim.User == "" || v.Claim.Hash == "" || v.Claim.Deleting || v.Claim.Legacy && !c.config.AdoptLegacy {
		return nil
	}
	live, err := c.claims.Get(ctx, v.Claim.Name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(fmt.Errorf("get claim %s: %w", v.Claim.Name, err))
	}
	f, ok := adoptedVolume(live, v.Claim)
	if !ok || live.DeletionTimestamp != nil || live.Name != task.ClaimName(f.Create.Volume.Name, f.Create.ID) {
		return nil
	}
	c.config.Logger.Info("adopting a PersistentVolumeClaim that has no entry in the command log", "volume", f.Create.ID, "claim", live.Name)
	return c.append(ctx, task.Command{Adopted: f})
}

// adoptedVolume decodes the labels and annotations that objects.Claim writes.
func adoptedVolume(claim *corev1.PersistentVolumeClaim, seen *task.Claim) (*task.Adopted, bool) {
	create := task.Create{ID: claim.Labels[task.LabelVolumeID], User: claim.Annotations[task.AnnotationUser]}
	hash := claim.Annotations[task.AnnotationSubmission]
	created, err := time.Parse(time.RFC3339Nano, claim.Annotations[task.AnnotationCreated])
	ok := err == nil
	if seen.Legacy {
		if create, ok = task.LegacyCreate(claim.Labels, claim.Annotations); ok {
			hash, created = create.Hash(), claim.CreationTimestamp.UTC()
		}
	}
	if !ok {
		return nil, false
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	create.Volume = task.Volume{Name: claim.Labels[task.LabelVolumeName], Size: size.String(), StorageClass: claim.Spec.StorageClassName}
	for _, mode := range claim.Spec.AccessModes {
		create.Volume.AccessModes = append(create.Volume.AccessModes, string(mode))
	}
	return &task.Adopted{Create: &create, Hash: hash, CreatedAt: created, UIDs: []string{string(claim.UID)}}, true
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
