package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// seen returns what Leases and direct reads show at 40 s. The given Leases were not renewed after 1 s.
func seen(servers int, late ...string) (c ControlPlane) {
	c.AsOf = transition.ControlPlane{Time: at(40), NewestRenewalSeen: at(39), Leader: true, APIServers: servers}
	for _, name := range late {
		c.LeaseLate(transition.ControlPlaneLeaseLate{Name: name, Host: "host-" + name, Since: at(1)})
	}
	return c
}

func reads(answers ...transition.LeasesRead) (c ControlPlane) {
	for i, x := range answers {
		x.Time = at(22 + float64(i))
		c.LeasesRead(x)
	}
	return c
}

// TestTheControlPlaneSaysWhichPartOfThePathItIs checks what is told about three of nine nodes that fell silent together.
func TestTheControlPlaneSaysWhichPartOfThePathItIs(t *testing.T) {
	failed, answered, silent3 := transition.LeasesRead{Answered: true, Reason: "etcd not ready"}, transition.LeasesRead{Answered: true}, silent(0, 4, 9)
	for want, c := range map[string]ControlPlane{
		"the API server on host-apiserver-b (Lease apiserver-b) stopped renewing its Lease at 12:00:01, and the other 2 API servers did not": seen(3, "apiserver-b"),
		"all API servers stopped renewing their Leases, too, which points to etcd":                                                           seen(2, "apiserver-a", "apiserver-b"),
		"the only API server stopped renewing its Lease, too, which points to etcd or to that API server":                                    seen(1, "apiserver-a"),
		"3 API server Leases were renewed on time, so etcd accepted writes":                                                                  seen(3),
		"the state of the API server is unknown, because kubeflap cannot watch API server Leases in kube-system":                             {},
		"the API server could not read Leases (etcd not ready)":                                                                              reads(failed, answered),
		"the API server could read the Leases of these nodes from etcd, so their renewals did not reach it":                                  reads(answered),
		"the API server did not answer kubeflap's direct reads (timeout)":                                                                    reads(transition.LeasesRead{Reason: "timeout"}),
	} {
		f := loss(9, silent3)
		f.Now, f.ControlPlane = at(45), c
		d := OfNodes(f)
		checkSays(t, d, verdict.SharedPath, want)
		if d.Etcd != strings.Contains(want, "all API servers") && !strings.Contains(want, "the only") {
			t.Errorf("%s: etcd %t", want, d.Etcd)
		}
	}
	f := loss(20, silent(0, 5))
	f.ControlPlane = seen(3, "apiserver-b")
	checkSays(t, OfNodes(f), verdict.SharedPath, "the API server on host-apiserver-b")
}

// TestTheLeaderOfTheControllerManager checks what is told about a node that was set to Unknown in time.
func TestTheLeaderOfTheControllerManager(t *testing.T) {
	changed, back, unseen := seen(1), seen(1, event.LeaseControllerManager), seen(1)
	changed.LeaderChanged(at(30))
	back.LeaseRenewed(transition.ControlPlaneLeaseRenewed{At: transition.At{Time: at(31)}, Name: event.LeaseControllerManager})
	unseen.AsOf.Leader = false
	for want, c := range map[string]ControlPlane{
		"the kube-controller-manager's leader did not renew its Lease for 30s":  back,
		"the kube-controller-manager's leader changed at 12:00:30":              changed,
		"the kube-controller-manager's leader renewed its Lease on time":        seen(1),
		"the kube-controller-manager's leader is unknown, because kubeflap can": unseen,
	} {
		f := loss(9, change(silent(0), func(s *silence.Silence) { s.Marked, s.MarkedAge, s.MarkedInTime = true, 12*time.Second, true }))
		f.Now, f.ControlPlane = at(40), c
		checkSays(t, OfNodes(f), verdict.ControllerManager, want)
	}
}

func checkSays(t *testing.T, d verdict.Decision, v verdict.Verdict, want string) {
	t.Helper()
	said := ""
	for _, h := range d.Considered {
		if h.Verdict == v {
			said = h.Because
		}
	}
	if d.Verdict != v || !strings.Contains(said, want) {
		t.Errorf("%s: %q, want %q in it", d.Verdict, said, want)
	}
}

// TestReadsThatKubeflapMayNotDoSayNothing checks that a missing permission or a rate limit is no evidence about etcd.
func TestReadsThatKubeflapMayNotDoSayNothing(t *testing.T) {
	for _, reason := range []event.Reason{event.ReasonForbidden, event.ReasonThrottled, event.ReasonUnauthorized, event.ReasonOther} {
		f := loss(9, silent(0, 4, 9))
		f.ControlPlane = reads(transition.LeasesRead{Answered: true, Reason: reason})
		if d := OfNodes(f); d.Verdict != verdict.SharedPath || strings.Contains(onPath(f), "Leases (") || strings.Contains(onPath(f), "from etcd") {
			t.Errorf("%s: %s: %s", reason, d.Verdict, onPath(f))
		}
	}
}
