package cache

import "k8s-cli/pkg/task"

// Owner returns the user of a task or volume; ok is false if nothing is known of
// it.
func (p *Store) Owner(k task.Key) (user string, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	switch k.Kind {
	case task.KindTask:
		if i := p.tasks[k.ID]; i != nil && i.record != nil {
			return i.record.User(), true
		}
	case task.KindVolume:
		if i := p.volumes[k.ID]; i != nil && i.view.VolumeRecord != nil {
			return i.view.Create.User, true
		}
	}
	return "", false
}
