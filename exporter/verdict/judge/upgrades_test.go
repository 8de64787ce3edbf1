package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

func TestKubeletsThatWereUpgradedRightBefore(t *testing.T) {
	upgraded := func(second float64, nodes ...string) func(*NodeLoss) {
		return func(f *NodeLoss) {
			for _, n := range nodes {
				f.Upgrades.Note(n, at(second))
			}
		}
	}
	all := []string{"node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-7"}
	for _, c := range []struct {
		name    string
		silent  silence.List
		changes []func(*NodeLoss)
		want    verdict.Verdict
		because string
	}{
		{"exactly the silent nodes", silent(60, 64, 69), []func(*NodeLoss){upgraded(0, all[:3]...)}, verdict.Undecided, "only the kubelets of node-1 and 2 more were upgraded in the ten minutes before the silences"},
		{"and they return together", back(silent(60, 64, 69), 90), []func(*NodeLoss){upgraded(0, all[:3]...)}, verdict.Undecided, "only the kubelets of"},
		{"the last report before the silence has the version", silent(60, 64, 69), []func(*NodeLoss){upgraded(60, "node-1"), upgraded(64, "node-2"), upgraded(69, "node-3")}, verdict.Undecided, "only the kubelets of"},
		{"and a batch of as many before", silent(300, 304, 309), []func(*NodeLoss){upgraded(0, all[3:6]...), upgraded(240, all[:3]...)}, verdict.Undecided, "and only 3 other kubelet"},
		{"and most other nodes, too", silent(300, 304, 309), []func(*NodeLoss){upgraded(0, all...)}, verdict.SharedPath, ""},
		{"two of three", silent(60, 64, 69), []func(*NodeLoss){upgraded(0, all[:2]...)}, verdict.SharedPath, ""},
		{"eleven minutes before", silent(670, 674, 679), []func(*NodeLoss){upgraded(0, all[:3]...)}, verdict.SharedPath, ""},
		{"afterwards", silent(60, 64, 69), []func(*NodeLoss){upgraded(200, all[:3]...)}, verdict.SharedPath, ""},
		{"before and afterwards", silent(60, 64, 69), []func(*NodeLoss){upgraded(0, all[:3]...), upgraded(2000, all[:3]...)}, verdict.Undecided, "only the kubelets of"},
		{"an API server stopped when they fell silent", silent(60, 64, 69), []func(*NodeLoss){upgraded(0, all[:3]...), func(f *NodeLoss) {
			f.ControlPlane.AsOf = transition.ControlPlane{Time: at(100), NewestRenewalSeen: at(99), APIServers: 3}
			f.ControlPlane.LeaseLate(transition.ControlPlaneLeaseLate{Name: "apiserver-a", Since: at(60)})
		}}, verdict.SharedPath, ""},
		{"the API server could not read Leases", silent(60, 64, 69), []func(*NodeLoss){upgraded(0, all[:3]...), func(f *NodeLoss) {
			f.ControlPlane.LeasesRead(transition.LeasesRead{At: transition.At{Time: at(90)}, Answered: true, Reason: "etcd is not ready"})
		}}, verdict.SharedPath, ""},
		{"one node", silent(60), []func(*NodeLoss){upgraded(0, "node-1")}, verdict.Node, ""},
		{"node after node, each after its own upgrade", silent(0, 300, 700, 1100, 1500, 1900, 2300, 2700), []func(*NodeLoss){func(f *NodeLoss) {
			for _, s := range f.Silences {
				upgraded(s.Began.Sub(zero).Seconds()-30, s.Node)(f)
			}
		}}, verdict.Node, ""},
	} {
		f := loss(9, c.silent)
		for _, change := range c.changes {
			change(f)
		}
		d := OfNodes(f)
		if d.Verdict != c.want || (d.Command == "") == (c.want == verdict.Undecided) {
			t.Errorf("%s: %s, want %s: %v", c.name, d.Verdict, c.want, d.Considered)
		}
		for _, x := range d.Considered {
			if c.because != "" && (x.Verdict == verdict.SharedPath || x.Verdict == verdict.Node) && (x.Holds != unknown || !strings.Contains(x.Because, c.because)) {
				t.Errorf("%s: %s %s: %q, want %q", c.name, x.Verdict, x.Holds, x.Because, c.because)
			}
		}
	}
}

func TestKubeletsThatAreUpgradedWhileOthersAreSilent(t *testing.T) {
	upgraded := func(n int, all silence.List) silence.List {
		change(all[:n], func(s *silence.Silence) { s.Upgraded = true })
		return all
	}
	// away keeps the ends of the first silences and makes all others ongoing.
	away := func(some int, all silence.List) silence.List {
		change(all[some:], func(s *silence.Silence) { s.Ended = time.Time{} })
		return all
	}
	stopped := loss(9, away(1, upgraded(1, back(silent(0, 4, 9), 60))))
	stopped.ControlPlane.AsOf = transition.ControlPlane{Time: at(100), NewestRenewalSeen: at(99), APIServers: 3}
	stopped.ControlPlane.LeaseLate(transition.ControlPlaneLeaseLate{Name: "apiserver-a", Since: at(0)})
	for _, c := range []struct {
		name    string
		loss    *NodeLoss
		want    verdict.Verdict
		because string
	}{
		{"one of three, and two are still silent", loss(9, away(1, upgraded(1, back(silent(0, 4, 9), 60)))), verdict.Undecided, "node-1 fell silent with them and came back with a different kubelet version"},
		{"one of five, and four are still silent", loss(9, away(1, upgraded(1, back(silent(0, 4, 9, 9, 9), 60)))), verdict.Undecided, "an upgrade may have stopped all of them"},
		{"one of five, long before the others", loss(9, away(1, upgraded(1, back(silent(-60, 4, 9, 9, 9), 60)))), verdict.SharedPath, ""},
		{"one of five, and one came back without", loss(9, away(2, upgraded(1, back(silent(0, 4, 9, 9, 9), 60, 90)))), verdict.SharedPath, ""},
		{"one of three, and an API server stopped with them", stopped, verdict.SharedPath, ""},
		{"one of three, one came back without, and one is still silent", loss(9, away(2, upgraded(1, back(silent(0, 4, 9), 60, 90)))), verdict.Undecided, "kubeflap can decide this when the nodes return, or when a third node falls silent"},
		{"one of three, and the others came back together", loss(9, upgraded(1, back(silent(0, 4, 9), 60, 90, 88))), verdict.SharedPath, ""},
		{"one of three, and the others came back far apart", loss(9, upgraded(1, back(silent(0, 4, 9), 60, 90, 900))), verdict.Node, ""},
		{"two of three, and one is still silent", loss(9, away(2, upgraded(2, back(silent(0, 4, 9), 60)))), verdict.Node, ""},
		{"three of three", loss(9, upgraded(3, back(silent(0, 4, 9), 60))), verdict.Node, ""},
	} {
		d := OfNodes(c.loss)
		if d.Verdict != c.want || (d.Command == "") == (c.want == verdict.Undecided) {
			t.Errorf("%s: %s, want %s: %v", c.name, d.Verdict, c.want, d.Considered)
		}
		i := slices.IndexFunc(d.Considered, func(x verdict.Considered) bool { return x.Verdict == verdict.SharedPath })
		if !strings.Contains(d.Considered[i].Because, c.because) {
			t.Errorf("%s: %q, want %q", c.name, d.Considered[i].Because, c.because)
		}
	}
}
