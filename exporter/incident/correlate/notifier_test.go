package correlate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// randomTransition returns a random transition of one of a few nodes, Services and pods, which may contradict earlier
// transitions.
func (s *scenario) randomTransition(r *rand.Rand) transition.Transition {
	n := r.IntN(6)
	why := []cause.Cause{cause.Unknown, cause.ProbeFailed, cause.PodDeleted, cause.ServiceChanged, cause.NodeHeartbeatLost, cause.InPlaceUpdate}[r.IntN(6)]
	at, node, web := s.is(), fmt.Sprintf("node-%d", r.IntN(5)), ofWeb(fmt.Sprintf("pod-%d", n))
	web.Name, web.Pod.Owner, web.Pod.Node = fmt.Sprintf("web-%d", n%3), fmt.Sprintf("StatefulSet/web-%d", n%3), node
	duration, yes := seconds([]float64{10, 40, 40}[r.IntN(3)]), r.IntN(2) == 0
	from, to := event.StatusTrue, event.StatusUnknown
	if r.IntN(2) == 0 {
		from, to = to, from
	}
	all := []transition.Transition{
		transition.HeartbeatSeen{OfNode: transition.OfNode{At: at, Node: node}, Interval: duration},
		transition.HeartbeatMissed{OfNode: transition.OfNode{At: at, Node: node}, Silence: duration},
		transition.NodeReadyChanged{OfNode: transition.OfNode{At: at, Node: node}, From: from, To: to, Lasted: duration},
		transition.NodeRemoved{OfNode: transition.OfNode{At: at, Node: node}},
		transition.AddressLost{At: at, Address: web, Cause: why},
		transition.AddressLost{At: at, Address: web, Cause: why},
		transition.AddressRemoved{At: at, Address: web},
		transition.AddressReady{At: at, Address: web},
		transition.AddressReady{At: at, Address: web},
		transition.AddressBounced{At: at, Address: web, Away: duration},
		transition.OutageStarted{At: at, Service: web.Service, Cause: why},
		transition.OutageEnded{At: at, Service: web.Service, Lasted: duration, Cause: why},
		transition.EndpointsReset{At: at, Service: web.Service, Count: 1, BySelector: yes},
		transition.EndpointsRewritten{At: at, Service: web.Service, Count: 1},
		transition.SelectorConflict{At: at, Service: web.Service, Count: 1},
		transition.SelectorConflictEnded{At: at, Service: web.Service},
		transition.ServiceRemoved{At: at, Service: web.Service},
		transition.PodReadyChanged{At: at, Pod: web.Pod, From: from, To: to, Cause: why},
	}
	return all[r.IntN(len(all))]
}

// reported is an incident's state as last reported by the naive notifier.
type reported struct {
	started, ended bool
	state          incident.State
	subject        string
}

// naive is a notifier that checks all incidents on each query. Its keys are incident IDs.
type naive map[string]reported

// expected returns the expected notices about shown incidents.
func (n naive) expected(shown map[string]incident.Incident) map[string]incident.NoticeKind {
	kinds := map[string]incident.NoticeKind{}
	for id, x := range shown {
		was := n[id]
		over := x.State == incident.StateEnded
		n[id] = reported{true, was.started && (was.ended || over), x.State, x.Subject}
		switch {
		case !was.started:
			kinds[id] = incident.Started
		case over && !was.ended:
			kinds[id] = incident.Ended
		case was.state == incident.StatePending && x.State == incident.StateRunning, was.subject != x.Subject:
			kinds[id] = incident.Changed
		}
	}
	return kinds
}

// departed returns and forgets the incidents that are no longer shown. The value reports whether the incident's end
// must still be reported.
func (n naive) departed(shown map[string]incident.Incident) map[string]bool {
	gone := map[string]bool{}
	for id, x := range n {
		if _, is := shown[id]; !is {
			gone[id] = !x.ended
			delete(n, id)
		}
	}
	return gone
}

// TestTheNotifierMissesNothing compares the notifier, which only checks incidents that may have changed, with a naive
// one that checks all incidents.
func TestTheNotifierMissesNothing(t *testing.T) {
	seeds := uint64(100)
	if testing.Short() {
		seeds = 25
	}
	kinds := map[incident.NoticeKind]int{}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		s, all := &scenario{New(3), t, zero}, naive{}
		now := 0.0
		for range 200 {
			now += []float64{0.001, 0.05, 0.5, 3, 40, 70}[r.IntN(6)]
			s.at(now).sees(s.randomTransition(r))
			if r.IntN(4) == 0 {
				continue
			}
			got := s.Notices(s.now)
			shown := map[string]incident.Incident{}
			for _, x := range s.Incidents(s.now) {
				shown[x.ID] = x
			}
			gone, expected := all.departed(shown), all.expected(shown)
			for _, n := range got {
				kinds[n.Kind]++
				x, is := shown[n.Incident.ID]
				switch {
				case !is && gone[n.Incident.ID] && n.Kind != incident.Started && n.Kind != incident.Changed:
					delete(gone, n.Incident.ID)
				case is && expected[n.Incident.ID] == n.Kind && reflect.DeepEqual(n.Incident, x):
					delete(expected, n.Incident.ID)
				default:
					t.Fatalf("seed %d after %.2f s: unexpected %v", seed, now, n)
				}
			}
			for id, missing := range gone {
				if missing {
					t.Fatalf("seed %d after %.2f s: %s has left without a notice", seed, now, id)
				}
			}
			if len(expected) > 0 {
				t.Fatalf("seed %d after %.2f s: not reported: %v", seed, now, expected)
			}
		}
	}
	for kind := incident.Started; kind <= incident.Dropped; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("none of kind %d was reported: %v", kind, kinds)
		}
	}
}
