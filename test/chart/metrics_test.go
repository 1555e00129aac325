package chart

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// find returns the object of a kind and name, or nil.
func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// at returns the value of a field of an object. The fields are a path such as "spec",
// "ports".
func at(t *testing.T, o *unstructured.Unstructured, fields ...string) any {
	t.Helper()
	if o == nil {
		t.Fatalf("there is no object with %v", fields)
	}
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, fields...)
	if err != nil || !found {
		t.Fatalf("%s %s has no %v: %v", o.GetKind(), o.GetName(), fields, err)
	}
	return value
}

// Prometheus finds the metrics at the port of the server in two ways: by the annotations of
// the pods, and by the ServiceMonitor of the Prometheus operator, which selects a Service
// that leads to a port of the pods.
func TestPrometheusFindsTheMetrics(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, values, target string
		port                 int64
	}{
		{"on the API's port", "", "http", 8000},
		{"on a port for operators", ",metrics.port=9090", "metrics", 9090},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := rendered(t, render(t, "k8s-cli", "--set", "metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.labels.release=p"+tt.values))
			monitor, service, api := find(t, all, "ServiceMonitor", "k8s-cli"), find(t, all, "Service", "k8s-cli-metrics"), find(t, all, "Deployment", "k8s-cli")
			if monitor == nil || service == nil || api == nil {
				t.Fatal("a ServiceMonitor, its Service or the Deployment is missing")
			}
			if got := monitor.GetLabels()["release"]; got != "p" {
				t.Errorf("the monitor has the label release=%q", got)
			}
			selected := at(t, monitor, "spec", "selector", "matchLabels").(map[string]any)
			for _, o := range all {
				if o.GetKind() == "Service" && holds(o.GetLabels(), selected) != (o == service) {
					t.Errorf("the monitor's labels %v lead to Service %s: %t", selected, o.GetName(), o != service)
				}
			}
			endpoint := at(t, monitor, "spec", "endpoints").([]any)[0].(map[string]any)
			wantPort := map[string]any{"name": endpoint["port"], "port": tt.port, "targetPort": tt.target, "appProtocol": "http"}
			if diff := cmp.Diff([]any{wantPort}, at(t, service, "spec", "ports")); diff != "" {
				t.Errorf("ports of the Service (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(at(t, api, "spec", "selector", "matchLabels"), at(t, service, "spec", "selector")); diff != "" {
				t.Errorf("the Service does not lead to the API's pods (-want +got):\n%s", diff)
			}
			if !listens(t, all, tt.target, tt.port) {
				t.Errorf("no port %s of the container is %d", tt.target, tt.port)
			}
			want := map[string]any{"prometheus.io/scrape": "true", "prometheus.io/port": fmt.Sprint(tt.port), "prometheus.io/path": "/metrics"}
			if diff := cmp.Diff(want, at(t, api, "spec", "template", "metadata", "annotations")); diff != "" {
				t.Errorf("annotations of the pods (-want +got):\n%s", diff)
			}
			told := slices.Contains(serverArgs(t, all), fmt.Sprintf("--admin-listen=0.0.0.0:%d", tt.port))
			if told != (tt.target == "metrics") {
				t.Errorf("the server is told to serve operators apart: %t", told)
			}
		})
	}
}

func holds(labels map[string]string, wanted map[string]any) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// By default the chart contains no object of the Prometheus operator, and no client reaches
// the port for operators unless the values name the client.
func TestMetricsAreOptional(t *testing.T) {
	t.Parallel()
	all := rendered(t, render(t, "k8s-cli", "--set", "metrics.port=9090,metrics.annotations=false"))
	if find(t, all, "ServiceMonitor", "k8s-cli") != nil || find(t, all, "Service", "k8s-cli-metrics") != nil {
		t.Error("there is a ServiceMonitor or its Service though nobody asked for one")
	}
	template := at(t, find(t, all, "Deployment", "k8s-cli"), "spec", "template", "metadata").(map[string]any)
	if template["annotations"] != nil {
		t.Errorf("the pods have the annotations %v", template["annotations"])
	}
	for _, rule := range at(t, find(t, all, "NetworkPolicy", "k8s-cli"), "spec", "ingress").([]any) {
		for _, port := range rule.(map[string]any)["ports"].([]any) {
			if port.(map[string]any)["port"] == "metrics" {
				t.Errorf("somebody is let in to the metrics: %v", rule)
			}
		}
	}
}
