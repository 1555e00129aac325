package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
)

// stranger: a user deletes the Job of a task and creates a foreign Job with the same name.
// The server must not touch the foreign Job, and the task ends.
func stranger(ctx context.Context, p *performance) error {
	return p.repeat(ctx, func(ctx context.Context, round int) error {
		ids, a, err := p.hand(ctx, p.Servers[0], round%2 == 1)
		if err != nil {
			return err
		}
		if err := p.applied(ctx, ids...); err != nil {
			return err
		}
		for _, id := range ids {
			p.expect.Meddled[id] = true
			if err := p.replaceJob(ctx, id); err != nil {
				return err
			}
			if round%2 == 1 { // stopped at once, so that the controller wants to delete a Job
				a.StopIt(ctx, id)
			}
		}
		return nil
	})
}

// replaceJob deletes the Job of a task and creates a foreign Job with the same name.
func (p *performance) replaceJob(ctx context.Context, id string) error {
	jobs := p.Cluster.BatchV1().Jobs(p.Cluster.Namespace)
	list, err := jobs.List(ctx, metav1.ListOptions{LabelSelector: task.LabelTaskID + "=" + id})
	if err != nil || len(list.Items) != 1 {
		return errors.Join(fmt.Errorf("task %s has %d Jobs, not one", id, len(list.Items)), err)
	}
	name := list.Items[0].Name
	background := metav1.DeletePropagationBackground
	if err := jobs.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return fmt.Errorf("delete job %s: %w", name, err)
	}
	foreign := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}},
		}}},
	}
	var uid types.UID
	err = testkit.Until(ctx, "room for another job "+name, func() (string, bool) {
		made, err := jobs.Create(ctx, foreign, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) && !strings.Contains(err.Error(), "object is being deleted") {
			return err.Error(), false
		}
		if err == nil {
			uid = made.UID
		}
		return "it is still there", err == nil
	})
	p.expect.Foreign[string(uid)] = true
	return err
}
