package incident

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// randomTransition is of one of a few nodes, Services and pods, and need not fit what came before.
func (s *tale) randomTransition(r *rand.Rand) transition.Transition {
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
		transition.HeartbeatSeen{At: at, Node: node, Interval: duration},
		transition.HeartbeatMissed{At: at, Node: node, Silence: duration},
		transition.NodeReadyChanged{At: at, Node: node, From: from, To: to, Lasted: duration},
		transition.NodeRemoved{At: at, Node: node},
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

// Whatever is found, News misses nothing by not looking at all incidents each time.
func TestNewsOfWhatChangedIsAllTheNews(t *testing.T) {
	told := map[NoticeKind]int{}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		some, all := &tale{New(3), t, zero}, &tale{New(3), t, zero}
		now := 0.0
		for range 200 {
			now += []float64{0, 0.05, 0.5, 3, 40, 70}[r.IntN(6)]
			x := some.at(now).randomTransition(r)
			some.tell(x)
			all.at(now).tell(x)
			if r.IntN(4) == 0 {
				continue
			}
			all.unread.all = true
			got, want := some.News(some.now), all.News(all.now)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d after %.2f s: told of %v, want %v", seed, now, got, want)
			}
			for _, n := range got {
				told[n.Kind]++
			}
		}
	}
	for kind := Started; kind <= Dropped; kind++ {
		if told[kind] == 0 {
			t.Errorf("none of kind %d was told: %v", kind, told)
		}
	}
}
