package submit

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

// The nodes of a task find each other by a Service, which gives them names, and
// by what each pod is told: the addresses of all. Both are there before a script
// begins. Nothing here is ever deleted: the Service belongs to the Job of the
// first node and goes with it.

// ensureService makes sure of the Service of several nodes. first is the UID of
// the first node's Job. Finding our own is success, as with Jobs; one that
// belongs to a former Job of that name is on its way out.
func (c *Controller) ensureService(ctx context.Context, r *task.Record, first string, seen readPoint) error {
	if r.NumNodes() == 1 {
		return nil
	}
	service := objects.Service(r, c.namespace, first)
	_, err := c.createService(ctx, service, seen)
	if apierrors.IsAlreadyExists(err) {
		err = c.checkService(ctx, service)
	}
	if err != nil {
		return fmt.Errorf("create service %s: %w", service.Name, err)
	}
	return nil
}

// checkService reports why the Service that exists cannot pass for the one
// wanted.
func (c *Controller) checkService(ctx context.Context, wanted *corev1.Service) error {
	live, err := c.services.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkDependent(live, wanted)
}

// checkDependent is checkOurs for what belongs to the first Job of a task. What
// belongs to a former one of that name is on its way out.
func checkDependent(live, wanted metav1.Object) error {
	if err := checkOurs(live, wanted); err != nil {
		return err
	}
	if owners := live.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != wanted.GetOwnerReferences()[0].UID {
		return errDeleting
	}
	return nil
}

// restoreService makes sure of the Service of Jobs that are about to be adopted:
// their controller may have died before it made one. Without it they have no
// names for each other and still their addresses, so that is no reason to leave
// them alone.
func (c *Controller) restoreService(ctx context.Context, f *task.Adopted, seen readPoint) {
	if f.UIDs[0] == "" {
		return
	}
	r := &task.Record{Submit: *f.Submit, Hash: f.Hash, CreatedAt: f.CreatedAt}
	if err := c.ensureService(ctx, r, f.UIDs[0], seen); err != nil {
		c.config.Logger.Warn("creating the Service of an adopted task failed; its nodes may have no DNS names", "task", f.Submit.ID, "err", err)
	}
}

// publishPeerAddresses tells every pod of several nodes the addresses of all of them, once
// all have one. A pod that ended keeps its address, and is told nothing.
func (c *Controller) publishPeerAddresses(ctx context.Context, v task.View) error {
	if v.NumNodes() == 1 {
		return nil
	}
	var addresses []string
	for _, pod := range v.Pods {
		if pod == nil || pod.Address == "" {
			return nil // its change brings the task back
		}
		addresses = append(addresses, pod.Address)
	}
	for _, pod := range v.Pods {
		if pod.AddressesPublished || pod.Phase.Over() {
			continue
		}
		err := c.publishPeersToPod(ctx, pod.Name, pod.UID, strings.Join(addresses, "\n"))
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("publish the addresses of all nodes to pod %s: %w", pod.Name, err)
		}
	}
	return nil
}
