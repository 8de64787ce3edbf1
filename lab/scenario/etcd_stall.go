package scenario

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// etcdGone is how long etcd is paused. It includes the API server's request timeout (60 s) and the grace period. The
// remaining 130 s exceed the 2 minutes after which the alert for nodes that are silent but Ready would fire. While etcd
// is paused, the node controller cannot read Leases, so the circuit breaker keeps the nodes Ready.
const etcdGone = time.Minute + grace + 130*time.Second

// etcdStall pauses etcd for so long that the API server drops its connections, watches and requests. The pause is in
// the scenario's function Blind, because all observers may miss events.
func etcdStall() Scenario {
	options := graced(breakerNodes, patientLeader()...)
	options.Release = cluster.Newest
	return Scenario{
		Name:    "etcd-stall",
		Extra:   true,
		Summary: "etcd stops for longer than the request timeout: the node controller cannot read a Lease, and all nodes are silent and stay Ready",
		Alerts: []Alert{{
			Name: "KubeflapControlPlaneFault", Says: []string{"Verdict: shared path"},
			Remedy: "etcd's disk and load first",
		}, {
			// The watches are silent for so long that kubeflap may have missed events.
			Name: "KubeflapBlind",
		}},
		Options: options,
		Prepare: func(l *Lab) { spreadReady(l, breakerNodes) },
		Run:     (*Lab).WaitForHeartbeats,
		Blind:   stallEtcd,
	}
}

// stallEtcd pauses etcd. It checks kubeflap's reports during the pause, and for some time after it.
func stallEtcd(l *Lab) {
	b := beforeBlindness(l)
	l.Cluster.Etcd.Pause()
	b.checkBlamesEtcd(etcdGone)
	l.Cluster.Etcd.Resume()
	l.Until("the API server", func(l *Lab) { l.Must(l.Cluster.ReadyAPIServer(l.Ctx)) })
	// In the next two grace periods, a node controller without the circuit breaker would set nodes to Unknown.
	b.checkBlamesEtcd(2 * grace)
	b.checkStayedReady()
}

// checkBlamesEtcd checks for the given time that kubeflap blames nothing but etcd. Each incident with a verdict must
// have the verdict shared_path, and there must be such an incident before the time is over.
func (b *blindness) checkBlamesEtcd(lasts time.Duration) {
	blamed := false
	for begin := time.Now(); time.Since(begin) < lasts; b.Sleep(checkPeriod) {
		after := time.Since(begin).Round(time.Second)
		for _, x := range b.Lab.Incidents().Incidents {
			if x.State == "pending" || x.Verdict == "undecided" {
				continue
			}
			b.Expect(x.Verdict == "shared_path" && strings.Contains(x.Because(), "the API server could not read Leases"),
				"%s after the stall began: got incident %+v, but only etcd is at fault", after, x)
			if !blamed {
				blamed = true
				b.Log.Info("kubeflap reports a fault in what the nodes share", "after", after, "because", x.Because())
			}
		}
	}
	b.Expect(blamed, "kubeflap has not reported that etcd is at fault")
}

// checkStayedReady checks that the Ready condition of every node is unchanged since beforeBlindness was called. kubeflap
// must also have counted no transition of a node or an address, and no lost address.
func (b *blindness) checkStayedReady() {
	for _, node := range list(b.Lab, b.Client.CoreV1().Nodes(), metav1.ListOptions{}).Items {
		for _, c := range node.Status.Conditions {
			b.Expect(c.Type != corev1.NodeReady || !c.LastTransitionTime.After(b.began), "the node controller marked %s at %s", node.Name, c.LastTransitionTime)
		}
	}
	waitForRecoveredWatches(b.Lab)
	b.reported = b.Scrape()
	for _, metric := range []string{transitions, flips, "kubeflap_service_address_losses_total"} {
		grown := b.grown(metric)
		b.Expect(grown == 0, "%s has changed by %v", metric, grown)
	}
	b.Must(b.Ready())
	b.Sleep(catchUp)
}
