package correlate

import (
	"math"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// apiServers adds n API servers with visible Leases that they renew.
func (c *cluster) apiServers(n int) *cluster {
	var leases []event.Object
	for i := range n {
		leases = append(leases, c.server(i))
	}
	c.servers = make([][][2]float64, n)
	c.lists(event.KindControlPlaneLease, leases...)
	return c
}

// stops makes API servers, counted from 1, stop renewing their Leases in the given period.
func (c *cluster) stops(from, to float64, servers ...int) *cluster {
	for _, i := range servers {
		c.servers[i-1] = append(c.servers[i-1], [2]float64{from, to})
	}
	return c
}

// reads makes kubeflap read Leases directly every 10 s in the given period.
func (c *cluster) reads(from, to int, answer event.Type, reason event.Reason) *cluster {
	for second := from; second < to; second += 10 {
		c.writes[second] = func() {
			for _, typ := range []event.Type{event.DirectReadStarted, answer} {
				e := event.Event{Seen: c.now, Kind: event.KindLease, Type: typ}
				if typ == answer {
					e.Reason = reason
				}
				c.observe(c.tracker.Apply(e))
			}
		}
	}
	return c
}

func TestTheControlPlaneSaysWhichPartOfThePathItIs(t *testing.T) {
	far := math.Inf(1)
	all := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range []struct {
		name  string
		story func() *cluster
		until int
		want  string
		// says is a text in the considered hypotheses, and shows is a text in the evidence.
		says, shows string
	}{
		{"one of three API servers stops, and a third of the nodes with it", func() *cluster {
			return newCluster(9, 40).apiServers(3).stops(300, far, 2).silence(300, far, 1, 4, 7)
		}, 420, "1 shared_path", "the API server on master-2 (Lease apiserver-b) stopped renewing its Lease at 12:04:5", "apiserver-b: last Lease renewal"},
		{"the same with two of twenty nodes", func() *cluster {
			return newCluster(20, 40).apiServers(3).stops(300, far, 2).silence(300, far, 3, 9)
		}, 420, "1 shared_path", "the API server on master-2 (Lease apiserver-b) stopped", "apiserver-b: last Lease renewal"},
		{"a zone is cut off, and the API servers are well", func() *cluster {
			return newCluster(9, 40).apiServers(3).silence(300, far, 1, 4, 7)
		}, 420, "1 shared_path", "3 API server Leases were renewed on time, so etcd accepted writes", ""},
		{"etcd takes no writes for 60 s", func() *cluster {
			return newCluster(9, 40).apiServers(3).stops(300, 360, 1, 2, 3).silence(300, 360, all...)
		}, 500, "1 shared_path", "all API servers stopped renewing their Leases, too, which points to etcd", "3 API servers (apiserver-"},
		{"the only API server, or etcd, takes no writes for 60 s", func() *cluster {
			return newCluster(9, 40).apiServers(1).stops(300, 360, 1).silence(300, 360, all...)
		}, 500, "1 shared_path", "the only API server stopped renewing its Lease, too, which points to etcd or to that API server", ""},
		{"kubeflap may not see the Leases", func() *cluster {
			return newCluster(9, 40).silence(300, far, 1, 4, 7)
		}, 420, "1 shared_path", "the state of the API server is unknown, because kubeflap cannot watch API server Leases in kube-system", ""},
		{"direct reads say that etcd is not ready", func() *cluster {
			return newCluster(9, 40).silence(300, 370, all...).reads(322, 370, event.DirectReadAnswered, event.ReasonEtcdNotReady)
		}, 500, "1 shared_path", "the API server could not read Leases (etcd not ready)", "etcd not ready"},
		{"direct reads fail while the nodes are silent, and the last ones succeed", func() *cluster {
			return newCluster(9, 40).silence(300, 370, all...).reads(322, 352, event.DirectReadAnswered, event.ReasonEtcdNotReady).reads(362, 370, event.DirectReadAnswered, "")
		}, 500, "1 shared_path", "the API server could not read Leases (etcd not ready)", "etcd not ready"},
		{"direct reads show that etcd answers", func() *cluster {
			return newCluster(9, 40).silence(300, 370, all...).reads(322, 370, event.DirectReadAnswered, "")
		}, 500, "1 shared_path", "the API server could read the Leases of these nodes from etcd, so their renewals did not reach it", "read Leases from etcd"},
		{"the node controller marks in time, and its leader stood still", func() *cluster {
			c := newCluster(9, 40).apiServers(1).leads(0, "a").marks(300, 1, 2, 3)
			c.leaderStops = [2]float64{270, 298}
			return c
		}, 400, "1 controller_manager", "the kube-controller-manager's leader did not renew its Lease for 30s", ""},
		{"the node controller marks in time, and its leader is another one", func() *cluster {
			return newCluster(9, 40).leads(0, "a").leads(298, "b").marks(300, 1, 2, 3)
		}, 400, "1 controller_manager", "the kube-controller-manager's leader changed at 12:04:58", ""},
		{"the node controller marks in time, and its leader is well", func() *cluster {
			return newCluster(9, 40).leads(0, "a").marks(300, 1, 2, 3)
		}, 400, "1 controller_manager", "the kube-controller-manager's leader renewed its Lease on time", ""},
		{"the node controller marks in time, and its leader cannot be seen", func() *cluster {
			return newCluster(9, 40).marks(300, 1, 2, 3)
		}, 400, "1 controller_manager", "the kube-controller-manager's leader is unknown", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.story().runs(c.until)
			equal(t, "verdicts", verdictsOf(all), c.want)
			said, shown := "", ""
			for _, x := range all {
				for _, h := range x.Considered {
					said += h.Because + "\n"
				}
				for _, e := range x.Evidence {
					shown += e.Text + "\n"
				}
			}
			if !strings.Contains(said, c.says) || !strings.Contains(shown, c.shows) || t.Failed() {
				t.Errorf("want %q in:\n%s\nand %q in:\n%s", c.says, said, c.shows, shown)
			}
		})
	}
}

// TestTheRemedyBeginsWithWhatStopped checks that the remedy names etcd first if all API servers stopped renewing their
// Leases, even if some nodes missed no heartbeat.
func TestTheRemedyBeginsWithWhatStopped(t *testing.T) {
	for _, c := range []struct {
		servers []int
		want    string
	}{
		{[]int{1, 2, 3}, "Check etcd's disk and load first, then the API server, and the network between the nodes and the API server: all API servers stopped renewing their Leases, too."},
		{[]int{2}, "If the heartbeats of the other 5 nodes are on time, etcd works: check what only these nodes share"},
	} {
		all := newCluster(9, 40).apiServers(3).stops(300, 360, c.servers...).silence(300, 360, 1, 2, 3, 4).runs(400)
		equal(t, "verdicts", verdictsOf(all), "1 shared_path")
		if len(all) == 1 && !strings.HasPrefix(all[0].Remedy, c.want) {
			t.Errorf("got %q, want %q", all[0].Remedy, c.want)
		}
	}
}
