package submit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

// reportClaim appends that the claim of a volume was bound or lost.
func (c *Controller) reportClaim(ctx context.Context, k task.Key, v task.VolumeView) error {
	phase := task.VolumeLost
	if v.Claim != nil {
		phase = v.Claim.Phase
	}
	if phase == v.Phase || phase != task.VolumeBound && phase != task.VolumeLost {
		return nil
	}
	if v.Claim == nil {
		is, err := c.hasClaim(ctx, v)
		if err != nil || is {
			return err
		}
	}
	return c.append(ctx, task.Command{Claimed: &task.Claimed{ID: k.ID, Phase: phase}})
}

// hasClaim reports whether the cluster has the claim of a volume that the informers do not
// show. hasClaim reads from the API server, because the informers may lag behind the creation
// of the claim.
func (c *Controller) hasClaim(ctx context.Context, v task.VolumeView) (bool, error) {
	live, err := c.claims.Get(ctx, v.ClaimName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get claim %s: %w", v.ClaimName(), err)
	}
	return string(live.UID) == v.UID, nil
}
