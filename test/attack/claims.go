package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// planted are claims that exist in a namespace before its server starts. No user may mount
// them by name.
var planted = []corev1.PersistentVolumeClaim{
	claim("train-abcd1234-xyzzy-ephemeral-0", nil, owner("Pod", true)),                                 // of a node of ann's task
	claim("train-abcd1234-xyzzy-ephemeral-1", map[string]string{"team": "search"}, owner("Pod", true)), // with labels of ann's own
	claim("train-abcd1234-xyzzy-ephemeral-2", nil, owner("Pod", false)),                                // with an owner that is not the controller
	claim("k8s-cli-log", map[string]string{"app.kubernetes.io/name": "k8s-cli-server"}, nil),           // the log of the release
	claim("data-k8s-cli-nats-0", map[string]string{"app.kubernetes.io/name": "k8s-cli-nats"}, nil),     // of the NATS of the release
	claim("anns-legacy", map[string]string{"skypilot-volume": "true", "username": "ann"}, nil),         // a volume of ann, but only by its labels
}

func claim(name string, labels map[string]string, owners []metav1.OwnerReference) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func owner(kind string, controller bool) []metav1.OwnerReference {
	version := "v1"
	if kind != "Pod" {
		version = "apps/v1"
	}
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "train-abcd1234-xyzzy", UID: "6ff8a7c0-0000-4000-8000-000000000000", Controller: &controller}}
}

// plantClaims creates the planted claims.
func (w *environment) plantClaims(ctx context.Context, namespace string) error {
	for _, c := range planted {
		if _, err := w.cluster.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, &c, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create claim %s: %w", c.Name, err)
		}
	}
	return nil
}

// claimAttacks mount claims by name that are not a volume of the user.
func claimAttacks() (all []attack) {
	unmounted := want{"the task would wait for another claim of that name, or no object of it names the claim", func(a answer) bool {
		body := string(a.body)
		return a.err == nil && a.code < 500 && (strings.Contains(body, "no claim of that name that you may use") || !strings.Contains(body, `"claimName"`))
	}}
	for _, at := range []mode{byHeader, byToken} {
		for _, c := range planted {
			for _, form := range []string{`{"/loot":%q}`, `{"/loot":{"name":%q,"sub_path":"x"}}`} {
				r := request{method: "POST", path: "/tasks/preview", body: fmt.Sprintf(`{"run":"cat /loot/*","volumes":`+form+`}`, c.Name)}
				all = append(all, ofAs(fmt.Sprintf("%s: %s %s", at, c.Name, form), at, "bob", r, unmounted))
			}
		}
		all = append(all, scene(string(at)+": a volume of a size", "its claim says that it is the server's, and whose", func(ctx context.Context, w *environment) error {
			return ephemeralClaim(ctx, w, at)
		}))
	}
	return append(all, control(ofAs("a volume of one's own", byHeader, "ann", request{method: "POST", path: "/tasks/preview", body: `{"run":"true","volumes":{"/data":"` + mark + `"}}`}, works)))
}

// ephemeralClaim checks that the claim template of a volume with a size has labels of the
// server. Only these labels distinguish the claim from a claim that all users may mount.
func ephemeralClaim(ctx context.Context, w *environment, at mode) error {
	s, err := w.serve(ctx, at)
	if err != nil {
		return err
	}
	a := s.send(ctx, request{method: "POST", path: "/tasks/preview", body: `{"run":"true","volumes":{"/scratch":{"size":"8Mi"}}}`, header: s.as("ann")})
	_, template, found := strings.Cut(string(a.body), `"volumeClaimTemplate"`)
	if a.code != 200 || !found {
		return fmt.Errorf("a preview of a volume with a size: %s", a)
	}
	template, _, _ = strings.Cut(template, `"spec"`)
	if !slices.ContainsFunc([]string{"skypilot-volume", "skypilot-owner", "skypilot-task", "task-id"}, func(key string) bool { return strings.Contains(template, key) }) {
		return fmt.Errorf("the template of the claim says nothing of the server: %s", template)
	}
	return nil
}
