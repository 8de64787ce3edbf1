package incident

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/track"
)

// randomFinding is of one of a few nodes, Services and pods, and need not fit what came before.
func randomFinding(r *rand.Rand) track.Finding {
	kinds := []track.FindingKind{
		track.HeartbeatSeen, track.HeartbeatMissed, track.NodeReadyChanged, track.NodeRemoved,
		track.AddressNotReady, track.AddressNotReady, track.AddressRemoved, track.AddressReady, track.AddressReady, track.AddressBounced,
		track.OutageStarted, track.OutageEnded, track.EndpointsReset, track.EndpointsRewritten, track.SelectorConflict, track.SelectorConflictEnded,
		track.ServiceRemoved, track.PodReadyChanged,
	}
	causes := []track.Cause{track.CauseUnknown, track.CauseProbeFailed, track.CausePodDeleted, track.CauseServiceChanged, track.CauseNodeHeartbeatLost, track.CauseInPlaceUpdate}
	pod := r.IntN(6)
	x := ofWeb(kinds[r.IntN(len(kinds))], fmt.Sprintf("pod-%d", pod), causes[r.IntN(len(causes))])
	x.Service, x.Owner = fmt.Sprintf("web-%d", pod%3), fmt.Sprintf("StatefulSet/web-%d", pod%3)
	x.Node = fmt.Sprintf("node-%d", r.IntN(5))
	x.Duration = seconds([]float64{10, 40, 40}[r.IntN(3)])
	x.Count, x.Selector = 1, r.IntN(2) == 0
	if x.Kind == track.NodeReadyChanged || x.Kind == track.PodReadyChanged {
		x.From, x.To = "true", "unknown"
		if r.IntN(2) == 0 {
			x.From, x.To = x.To, x.From
		}
	}
	return x
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
			x := randomFinding(r)
			some.at(now).tell(x)
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
