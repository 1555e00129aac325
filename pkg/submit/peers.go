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

// The nodes of a task find each other in two ways: a Service gives them names, and an
// annotation of each pod holds the addresses of all nodes. The names and the addresses exist
// before a script begins. The controller deletes neither: the Job of the first node owns the
// Service.

// ensureService creates the Service of a task with several nodes. first is the UID of the Job
// of the first node. An existing Service of this Job is a success; a Service of a former Job
// of the same name is being deleted.
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

// checkService returns an error if the existing Service is not the wanted one.
func (c *Controller) checkService(ctx context.Context, wanted *corev1.Service) error {
	live, err := c.services.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return checkDependent(live, wanted)
}

// checkDependent is checkOurs for an object that the first Job of a task owns. An object that
// a former Job of that name owns is being deleted.
func checkDependent(live, wanted metav1.Object) error {
	if err := checkOurs(live, wanted); err != nil {
		return err
	}
	if owners := live.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != wanted.GetOwnerReferences()[0].UID {
		return errDeleting
	}
	return nil
}

// restoreService creates the Service of Jobs that are about to be adopted, because their
// controller may have crashed before it created the Service. An error does not prevent the
// adoption: without the Service the nodes have no names, but they still have their addresses.
func (c *Controller) restoreService(ctx context.Context, f *task.Adopted, seen readPoint) {
	if f.UIDs[0] == "" {
		return
	}
	r := &task.Record{Submit: *f.Submit, Hash: f.Hash, CreatedAt: f.CreatedAt}
	if err := c.ensureService(ctx, r, f.UIDs[0], seen); err != nil {
		c.config.Logger.Warn("creating the Service of an adopted task failed; its nodes may have no DNS names", "task", f.Submit.ID, "err", err)
	}
}

// publishPeerAddresses publishes the addresses of all nodes to each pod of a task with several
// nodes, once all nodes have an address. Pods that have ended keep their addresses and are
// skipped.
func (c *Controller) publishPeerAddresses(ctx context.Context, v task.View) error {
	if v.NumNodes() == 1 {
		return nil
	}
	var addresses []string
	for _, pod := range v.Pods {
		if pod == nil || pod.Address == "" {
			return nil // the change of the pod enqueues the task again
		}
		addresses = append(addresses, pod.Address)
	}
	for _, pod := range v.Pods {
		if pod.AddressesPublished || pod.Phase.Over() {
			continue
		}
		err := c.publishToPod(ctx, pod.Name, pod.UID, task.AnnotationAddresses, strings.Join(addresses, "\n"))
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("publish the addresses of all nodes to pod %s: %w", pod.Name, err)
		}
	}
	return nil
}
