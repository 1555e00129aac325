package chart

import (
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// An endpoint is one side of a connection: a pod, or an address outside the cluster if the
// namespace is empty.
type endpoint struct {
	namespace string
	labels    map[string]string
	address   string
	ports     map[string]int32 // the ports with a name
}

// A port is the destination port of a connection.
type port struct {
	number   int32
	protocol corev1.Protocol // TCP if empty
}

// A network evaluates NetworkPolicies as their API describes, because the network of the local
// cluster does not enforce them. The API leaves open whether an ipBlock matches pods;
// blocksHavePods says what this network does.
type network struct {
	policies       []networkingv1.NetworkPolicy
	blocksHavePods bool
}

// policies returns the NetworkPolicies among rendered objects.
func policies(t *testing.T, all []*unstructured.Unstructured) (found []networkingv1.NetworkPolicy) {
	t.Helper()
	for _, o := range all {
		if o.GetKind() != "NetworkPolicy" {
			continue
		}
		var p networkingv1.NetworkPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &p, true); err != nil {
			t.Fatalf("%s: %v", o.GetName(), err)
		}
		found = append(found, p)
	}
	return found
}

// allows reports whether a connection is allowed: both sides must allow it.
func (n network) allows(from, to endpoint, at port) bool {
	if at.protocol == "" {
		at.protocol = corev1.ProtocolTCP
	}
	out := n.side(from, networkingv1.PolicyTypeEgress, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return n.isPeer(to, r.To, p.Namespace) && hasPort(r.Ports, to, at)
		})
	})
	in := n.side(to, networkingv1.PolicyTypeIngress, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return n.isPeer(from, r.From, p.Namespace) && hasPort(r.Ports, to, at)
		})
	})
	return out && in
}

// side reports whether one side allows a connection: a policy of the pod allows it, or the
// pod has no policy.
func (n network) side(e endpoint, direction networkingv1.PolicyType, lets func(networkingv1.NetworkPolicy) bool) bool {
	isolated := false
	for _, p := range n.policies {
		if e.namespace == "" || p.Namespace != e.namespace || !slices.Contains(p.Spec.PolicyTypes, direction) || !selects(&p.Spec.PodSelector, e.labels) {
			continue
		}
		if lets(p) {
			return true
		}
		isolated = true
	}
	return !isolated
}

// isPeer reports whether peers, of a policy in a namespace, match e. An empty list matches
// everything.
func (n network) isPeer(e endpoint, peers []networkingv1.NetworkPolicyPeer, namespace string) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return (e.namespace == "" || n.blocksHavePods) && holdsAddress(p.IPBlock, e.address)
		case e.namespace == "":
			return false
		case p.NamespaceSelector == nil && e.namespace != namespace:
			return false
		}
		return (p.NamespaceSelector == nil || selects(p.NamespaceSelector, map[string]string{corev1.LabelMetadataName: e.namespace})) &&
			(p.PodSelector == nil || selects(p.PodSelector, e.labels))
	})
}

func holdsAddress(b *networkingv1.IPBlock, address string) bool {
	a := netip.MustParseAddr(address)
	return netip.MustParsePrefix(b.CIDR).Contains(a) && !slices.ContainsFunc(b.Except, func(except string) bool {
		return netip.MustParsePrefix(except).Contains(a)
	})
}

func hasPort(ports []networkingv1.NetworkPolicyPort, to endpoint, at port) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if protocol := p.Protocol; protocol != nil && *protocol != at.protocol || protocol == nil && at.protocol != corev1.ProtocolTCP {
			return false
		}
		switch {
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return to.ports[p.Port.StrVal] == at.number
		case p.EndPort != nil:
			return p.Port.IntVal <= at.number && at.number <= *p.EndPort
		}
		return p.Port.IntVal == at.number
	})
}

func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}
