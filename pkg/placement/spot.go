package placement

import corev1 "k8s.io/api/core/v1"

// spotMarks are the labels of spot machines, which the cloud may take away. The taint that
// reserves a spot machine, if there is one, has the key and the value of the label.
var spotMarks = []struct{ key, value string }{
	{"cloud.google.com/gke-spot", "true"},
	{"eks.amazonaws.com/capacityType", "SPOT"},
	{"kubernetes.azure.com/scalesetpriority", "spot"},
	{"karpenter.sh/capacity-type", "spot"},
}

// IsSpot reports whether a machine with these labels is a spot machine.
func IsSpot(labels map[string]string) bool {
	for _, m := range spotMarks {
		if labels[m.key] == m.value {
			return true
		}
	}
	return false
}

// SpotTolerations returns the tolerations of pods for spot machines.
func SpotTolerations() (all []corev1.Toleration) {
	for _, m := range spotMarks {
		all = append(all, corev1.Toleration{Key: m.key, Operator: corev1.TolerationOpEqual, Value: m.value, Effect: corev1.TaintEffectNoSchedule})
	}
	return all
}

func spotTerms() (all []corev1.NodeSelectorTerm) {
	for _, m := range spotMarks {
		all = append(all, termOf(m.key, m.value))
	}
	return all
}
