package client

import (
	"context"
	"net/http"
	"net/url"

	"k8s-cli/pkg/task"
)

// CreateVolume creates a volume. After CreateVolume returns, the server has stored the
// volume and lists the volume; the cluster may take longer to provision the volume.
func (c *Client) CreateVolume(ctx context.Context, v task.Volume) (task.Created, error) {
	var answer task.Created
	err := c.do(ctx, request{method: http.MethodPost, path: "/volumes/create", body: v, key: newKey()}, &answer)
	return answer, err
}

// Volume returns the status of one volume.
func (c *Client) Volume(ctx context.Context, id string) (task.VolumeStatus, error) {
	var answer task.VolumeStatus
	path, err := objectPath(task.KindVolume, id)
	if err != nil {
		return answer, err
	}
	if err = c.do(ctx, request{method: http.MethodGet, path: path}, &answer); err == nil {
		err = c.checkAnswer("volume", id, answer.ID)
	}
	return answer, err
}

// Volumes returns the volumes of the user, or of all users, newest first.
func (c *Client) Volumes(ctx context.Context, allUsers bool) ([]task.VolumeStatus, error) {
	var answer task.VolumeList
	err := c.do(ctx, request{method: http.MethodGet, path: "/volumes", query: allUsersQuery(allUsers)}, &answer)
	return answer.Volumes, err
}

// DeleteVolume deletes one volume and its content. A repeated request returns the first response. The error is of kind problem.Conflict if
// tasks use the volume, and names the tasks.
func (c *Client) DeleteVolume(ctx context.Context, id string) (task.Deleted, error) {
	return c.deleteVolume(ctx, id, nil)
}

// ForceDeleteVolume deletes one volume even if tasks use the volume. Kubernetes removes the
// claim after the pods of these tasks have ended.
func (c *Client) ForceDeleteVolume(ctx context.Context, id string) (task.Deleted, error) {
	return c.deleteVolume(ctx, id, url.Values{"force": {"true"}})
}

func (c *Client) deleteVolume(ctx context.Context, id string, query url.Values) (task.Deleted, error) {
	var answer task.Deleted
	path, err := objectPath(task.KindVolume, id)
	if err != nil {
		return answer, err
	}
	if err = c.do(ctx, request{method: http.MethodDelete, path: path, query: query, key: newKey()}, &answer); err == nil {
		err = c.checkAnswer("volume", id, answer.ID)
	}
	return answer, err
}
