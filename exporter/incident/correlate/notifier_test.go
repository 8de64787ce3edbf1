package correlate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
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

// TestTheNotifierMissesNothing checks that each incident that lasts for a second starts once, and then ends, is merged or is
// ongoing at the end once. After each notice, the incident's state is the one that was last reported.
func TestTheNotifierMissesNothing(t *testing.T) {
	kinds := map[incident.NoticeKind]int{}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		s, now, known, seen := &scenario{New(3), t, zero}, 0.0, map[string]incident.NoticeKind{}, map[string]float64{}
		hear := func(notices []incident.Notice) {
			for _, n := range notices {
				was := known[n.Incident.ID]
				if n.Kind == incident.Revised && was == incident.Ended {
					continue
				}
				if first, ok := seen[n.Incident.ID]; was == 0 && n.IsLast() && (!ok || now-first < 1) {
					continue // nothing follows that could report its start
				}
				if (was == 0) != (n.Kind == incident.Started) || was > incident.Changed {
					t.Fatalf("seed %d after %.2f s: kind %d after %d: %+v", seed, now, n.Kind, was, n.Incident)
				}
				known[n.Incident.ID] = n.Kind
				if kinds[n.Kind]++; n.Kind == incident.Merged {
					delete(known, n.Incident.ID) // a new incident may get this ID
				}
			}
		}
		for range 200 {
			now += []float64{0.001, 0.05, 0.5, 3, 40, 70}[r.IntN(6)]
			s.at(now).sees(s.randomTransition(r))
			if r.IntN(4) == 0 {
				continue
			}
			hear(s.Notices(s.now))
			hear(s.Notices(s.now)) // the end of an incident that had ended at its start
			before := seen
			seen = map[string]float64{}
			for _, x := range s.Overview(s.now) {
				is, over := known[x.ID], x.State == incident.StateResolved
				seen[x.ID] = now
				if first, ok := before[x.ID]; ok {
					seen[x.ID] = first
				}
				if is == 0 && now-seen[x.ID] < 1 {
					continue // its start is reported soon
				}
				if is == 0 || is == incident.Ended && !over || is < incident.Ended && over && s.now.Sub(x.End.Time) > ledger.Quiet+time.Second {
					t.Fatalf("seed %d after %.2f s: %s is reported as %d", seed, now, x.State, known[x.ID])
				}
			}
		}
		hear(append(s.Notices(s.now), s.LastNotices(s.now)...))
		for id, kind := range known {
			if kind <= incident.Changed {
				t.Errorf("seed %d: the end of %s is missing", seed, id)
			}
		}
	}
	for kind := incident.Started; kind <= incident.Ongoing; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("none of kind %d was reported: %v", kind, kinds)
		}
	}
}
