package track

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// blinded is a tracker whose watches break and list again. Another tracker sees all events.
type blinded struct {
	*Tracker
	dark map[event.Kind]bool
}

func (b *blinded) sees(e event.Event) {
	if !b.dark[e.Kind] {
		b.Apply(e)
	}
}

func (b *blinded) breaks(kinds []event.Kind, t time.Time) {
	for _, k := range kinds {
		b.Apply(event.Event{Seen: t, Kind: k, Type: event.Down, Reason: event.ReasonRefused})
		b.dark[k] = true
	}
}

// lists sends a list of a resource. Sometimes the first attempt breaks off.
func (b *blinded) lists(c *cluster, k event.Kind) {
	tell := func(typ event.Type, o event.Object) {
		b.Apply(event.Event{Seen: c.now, Kind: k, Type: typ, Object: o})
	}
	all := c.pickAll(c.objects[k])
	if c.chance(20) {
		tell(event.Listing, nil)
		for _, o := range all[:len(all)/2] {
			tell(event.Listed, o)
		}
	}
	if c.chance(50) {
		tell(event.Down, nil)
	}
	tell(event.Listing, nil)
	for _, o := range all {
		tell(event.Listed, o)
	}
	tell(event.Synced, nil)
	b.dark[k] = false
}

// TestAfterAGapTheStateIsRightAndNoCountIsTooHigh breaks random watches at a random time, while the cluster changes. After
// the lists, the tracker must know the same state as a tracker that saw everything, and must not have counted more.
func TestAfterAGapTheStateIsRightAndNoCountIsTooHigh(t *testing.T) {
	seeds := uint64(500)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		for _, source := range []event.Kind{event.KindEndpointSlice, event.KindEndpoints} {
			t.Run(fmt.Sprintf("seed %d, %v", seed, source), func(t *testing.T) { compareAfterGap(t, seed, source) })
		}
	}
}

func compareAfterGap(t *testing.T, seed uint64, source event.Kind) {
	settings := Settings{GracePeriod: 40 * time.Second, AddressSource: source}
	truth, b := New(settings), &blinded{New(settings), map[event.Kind]bool{}}
	c := newCluster(t, seed, 0, func(e event.Event) { truth.Apply(e) }, b.sees)
	c.steady = true
	for _, k := range event.Kinds() {
		c.list(k)
	}
	happen := func(most int) {
		for range c.IntN(most) {
			c.something()
		}
	}
	happen(200)
	kinds := event.Kinds()
	c.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	if c.chance(50) {
		kinds = kinds[:1+c.IntN(len(kinds))]
	}
	b.breaks(kinds, c.now)
	happen(60)
	for _, k := range kinds {
		b.lists(c, k)
		happen(3)
	}
	compareStates(t, "after the lists", c, truth, b.Tracker)
	happen(60)
	compareStates(t, "later", c, truth, b.Tracker)
}

// compareStates compares a tracker whose watches were broken with the truth.
func compareStates(t *testing.T, when string, c *cluster, truth, gap *Tracker) {
	t.Helper()
	now := c.now
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s:\ngot  %v\nwant %v", when, what, got, want)
		}
	}
	same("nodes", nodeStates(gap, now), nodeStates(truth, now))
	same("pods", podStates(gap, c), podStates(truth, c))
	same("addresses", addressStates(gap, now), addressStates(truth, now))
	most, got := countsOf(truth, now), countsOf(gap, now)
	for what, n := range got {
		if n > most[what] {
			t.Errorf("%s: %s: got %d, but the truth is %d", when, what, n, most[what])
		}
	}
}

func nodeStates(f *Tracker, now time.Time) map[string]event.Status {
	all := map[string]event.Status{}
	for _, n := range f.Nodes(now, nil) {
		all[n.Name] = n.Ready
	}
	return all
}

// podStates returns the number of known pods, and which pods of the cluster are Ready.
func podStates(f *Tracker, c *cluster) []string {
	known := 0
	f.pods.Known(func(event.Meta, *bool) { known++ })
	all := []string{fmt.Sprint(known)}
	for id := range c.objects[event.KindPod] {
		if p := f.pods.Find(id); p != nil {
			all = append(all, fmt.Sprint(id, p.IsReady()))
		}
	}
	slices.Sort(all)
	return all
}

func addressStates(f *Tracker, now time.Time) (all []string) {
	for _, s := range f.Services(now, nil) {
		all = append(all, fmt.Sprintf("%s: selector %t, %d ready, %d not ready, %d terminating, %d foreign",
			s.Name, s.Selector, s.Ready, s.NotReady, s.Terminating, s.ForeignAddresses))
	}
	return all
}

// countsOf returns the counts of changes. Resets are missing, because they depend on the order of events in the gap: the
// removal of manually managed addresses is a reset only if no pod matched the selector at that time.
func countsOf(f *Tracker, now time.Time) map[string]uint64 {
	f.Settle()
	all := map[string]uint64{}
	for _, s := range f.Services(now, nil) {
		name := s.Name + " "
		all[name+"lost"], all[name+"outages"] = sumOf(s.Lost), sumOf(s.Outages)
	}
	for _, n := range f.Nodes(now, nil) {
		all[n.Name+" turned"] = n.Turned[0] + n.Turned[1] + n.Turned[2]
	}
	for _, x := range f.Namespaces(now, nil) {
		all[x.Name+" unready"], all[x.Name+" updates"], all[x.Name+" restarts"] = x.Unready, x.InPlaceUpdates, x.SilentRestarts
	}
	return all
}

// sumOf returns the sum over all classes.
func sumOf(by [cause.NumClasses]uint32) (sum uint64) {
	for _, n := range by {
		sum += uint64(n)
	}
	return sum
}

// TestRecordedEventsGiveTheSame writes all events to a recording, as they came from the API server, and replays it.
func TestRecordedEventsGiveTheSame(t *testing.T) {
	for seed := range uint64(5) {
		var file bytes.Buffer
		w, err := recording.NewWriter(&file, recording.Header{}, false)
		if err != nil {
			t.Fatal(err)
		}
		live := newStory(t, Settings{GracePeriod: 40 * time.Second})
		c := newCluster(t, seed, 0, live.Apply, func(e event.Event) {
			if err := w.Write(e); err != nil {
				t.Fatal(err)
			}
		})
		for range 500 {
			c.something()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		replayed := newStory(t, Settings{GracePeriod: 40 * time.Second})
		r, err := recording.NewReader(&file, "")
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range r.Events() {
			if err != nil {
				t.Fatal(err)
			}
			replayed.Apply(e)
		}
		if count[transition.ServiceRemoved](live) == 0 || count[transition.NodeRemoved](live) == 0 {
			t.Errorf("seed %d: no Service or no node vanished", seed)
		}
		if got, want := lines(replayed.found), lines(live.found); !slices.Equal(got, want) {
			t.Errorf("seed %d: the replay differs: %d transitions, want %d", seed, len(got), len(want))
		}
	}
}

func lines(all []transition.Transition) (lines []string) {
	for _, x := range all {
		lines = append(lines, fmt.Sprintf("%v %v", x.When(), x))
	}
	return lines
}
