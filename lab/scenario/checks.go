package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// These are metrics that several scenarios wait for.
const (
	heartbeats  = truth.Heartbeats
	longest     = "kubeflap_node_heartbeat_interval_max_seconds"
	transitions = "kubeflap_node_ready_transitions_total"
	addresses   = "kubeflap_service_addresses"
	flips       = "kubeflap_service_address_flips_total"
	lost        = truth.AddressesLost
)

// counts returns the recorder's counts.
func (l *Lab) counts() truth.Counts { return l.Truth.Counts() }

// waitForCount waits until the recorder's count equals value. It adds up all series of the metric with the given
// labels.
func (l *Lab) waitForCount(value float64, metric string, labels ...string) {
	l.Until(fmt.Sprintf("%s%v to be %v", metric, labels, value), func(l *Lab) {
		sum := l.counts().Sum(metric, labels...)
		l.Expect(sum == value, "got %v", sum)
	})
}

// waitForCountAtLeast is like waitForCount, but the count may be higher.
func (l *Lab) waitForCountAtLeast(value float64, metric string, labels ...string) {
	l.Until(fmt.Sprintf("at least %v of %s%v", value, metric, labels), func(l *Lab) {
		sum := l.counts().Sum(metric, labels...)
		l.Expect(sum >= value, "got %v", sum)
	})
}

// Scrape reads kubeflap's metrics.
func (l *Lab) Scrape() truth.Counts { return compare.Scrape(l.Ctx, l.URL+"/metrics") }

// waitForReportedValue waits until kubeflap's metric is exactly value.
func (l *Lab) waitForReportedValue(value float64, metric string, labels ...string) {
	l.Until(fmt.Sprintf("kubeflap to show the value %v of %s%v", value, metric, labels), func(l *Lab) {
		sum := l.Scrape().Sum(metric, labels...)
		l.Expect(sum == value, "got %v", sum)
	})
}

// webHas waits until the Service "web" has n addresses in a state, such as ready.
func (l *Lab) webHas(n int, state string) {
	l.waitForCount(float64(n), addresses, "service", "web", "state", state)
}

// waitForReadyAddresses waits until a Service has exactly n ready addresses.
func (l *Lab) waitForReadyAddresses(namespace, service string, n int) {
	l.Until(fmt.Sprintf("%d ready addresses of %s/%s", n, namespace, service), func(l *Lab) {
		ready := map[string]bool{} // the two IPs of a dual-stack pod are one address, but are in two slices
		for _, slice := range slicesOf(l, namespace, service) {
			for _, endpoint := range slice.Endpoints {
				id := endpoint.Addresses[0]
				if endpoint.TargetRef != nil {
					id = string(endpoint.TargetRef.UID)
				}
				if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
					ready[id] = true
				}
			}
		}
		l.Expect(len(ready) == n, "got %d", len(ready))
	})
}

// waitForPodGone waits until a pod has been deleted completely.
func (l *Lab) waitForPodGone(namespace, pod string) {
	l.Until("pod "+pod+" to be deleted", func(l *Lab) {
		pods := list(l, l.Client.CoreV1().Pods(namespace), metav1.ListOptions{FieldSelector: "metadata.name=" + pod})
		l.Expect(len(pods.Items) == 0, "the pod still exists")
	})
}

// WaitForHeartbeats waits for a heartbeat of each hollow node. kubeflap and the recorder measure an interval only if
// they have seen the heartbeats at both ends.
func (l *Lab) WaitForHeartbeats() {
	for node := range l.Cluster.Kubelets {
		l.waitForCountAtLeast(1, heartbeats, "node", node)
	}
}

// waitForLeaseRenewal waits until a node's Lease is renewed. An update of the node's status is not enough.
func (l *Lab) waitForLeaseRenewal(node string) {
	leases := l.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	before := get(l, leases, node).Spec.RenewTime
	l.Until("a renewal of the Lease of "+node, func(l *Lab) {
		now := get(l, leases, node).Spec.RenewTime
		l.Expect(!now.Equal(before), "it was last renewed at %s", now)
	})
}

// waitForNodeStatus waits until the Ready condition of each node has changed to the given status.
func (l *Lab) waitForNodeStatus(status string, nodes ...string) {
	for _, node := range nodes {
		l.waitForCountAtLeast(1, transitions, "node", node, "status", status)
	}
}

// waitForNoTaints waits until the node controller has removed the taints of new nodes. If etcd stalled during the
// removal, the node controller would wait for it, and would not check the nodes' heartbeats.
func (l *Lab) waitForNoTaints() {
	l.Until("nodes to have no taints", func(l *Lab) {
		for _, node := range list(l, l.Client.CoreV1().Nodes(), metav1.ListOptions{}).Items {
			l.Expect(len(node.Spec.Taints) == 0, "%s still has %v", node.Name, node.Spec.Taints)
		}
	})
}

// late reports whether a node sent no heartbeat for at least the given time.
func (l *Lab) late(node string, least time.Duration) bool {
	return l.counts().Sum(longest, "node", node) >= least.Seconds()
}

// checkLate checks that the given nodes were late.
func (l *Lab) checkLate(least time.Duration, nodes ...string) {
	for _, node := range nodes {
		l.Expect(l.late(node, least), "%s was never later than %.1f s", node, l.counts().Sum(longest, "node", node))
	}
}

// nodes returns the names of all nodes with a kubelet.
func (l *Lab) nodes() (all []string) {
	for i := range len(l.Cluster.Kubelets) {
		all = append(all, cluster.NodeName(i))
	}
	return all
}

// checkNodeLost checks that the node controller has set a node to Unknown and its pods to not ready.
func checkNodeLost(l *Lab) {
	unknown, lost := l.counts().Sum(transitions, "status", "unknown"), l.counts().Sum(flips, "to", "not_ready")
	l.Expect(unknown >= 1 && lost >= 1, "%v nodes turned Unknown and %v addresses not ready so far", unknown, lost)
}
