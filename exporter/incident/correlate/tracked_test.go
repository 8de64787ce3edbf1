package correlate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// tracked is a log that observes the transitions that a tracker finds in events.
type tracked struct {
	tracker *track.Tracker
	log     *Log
	now     time.Time
	found   []transition.Transition
	// The list events holds all events so far.
	events []event.Event
}

func newTracked(settings track.Settings) *tracked {
	b := &tracked{log: New(10), now: zero}
	b.tracker = track.New(settings)
	return b
}

var grace40 = track.Settings{GracePeriod: 40 * time.Second}

func (b *tracked) at(s float64) *tracked {
	b.now = zero.Add(seconds(s))
	return b
}

func (b *tracked) is(typ event.Type, objects ...event.Object) *tracked {
	for _, o := range objects {
		b.apply(event.Event{Seen: b.now, Kind: o.Kind(), Type: typ, Object: o})
	}
	return b
}

func (b *tracked) apply(e event.Event) {
	b.events = append(b.events, e)
	b.observe(b.tracker.Apply(e))
}

func (b *tracked) observe(found []transition.Transition) {
	b.found = append(b.found, found...)
	b.log.Observe(found...)
}

// lossesComeFirst checks that each loss is reported before the return of its address, even if the loss waited for its
// cause. The log relies on this order.
func lossesComeFirst(t *testing.T, found []transition.Transition) {
	t.Helper()
	returned := map[incident.Open]time.Time{}
	for _, x := range found {
		switch x := x.(type) {
		case transition.AddressReady:
			returned[incident.OpenAddress(x.Address)] = x.Time
		case transition.AddressAdded:
			returned[incident.OpenAddress(x.Address)] = x.Time
		case transition.AddressLost:
			if at := returned[incident.OpenAddress(x.Address)]; at.After(x.Time) {
				t.Errorf("%s at %v is reported after its return at %v", x, x.Time, at)
			}
		}
	}
}

func (b *tracked) lists(k event.Kind, objects ...event.Object) *tracked {
	b.apply(event.Event{Seen: b.now, Kind: k, Type: event.Listing})
	b.is(event.Listed, objects...)
	b.apply(event.Event{Seen: b.now, Kind: k, Type: event.Synced})
	return b
}

func (b *tracked) starts(objects ...event.Object) *tracked {
	for _, k := range event.Kinds() {
		var some []event.Object
		for _, o := range objects {
			if o.Kind() == k {
				some = append(some, o)
			}
		}
		b.lists(k, some...)
	}
	return b
}

func (b *tracked) asOf(s float64) []incident.Incident {
	t := zero.Add(seconds(s))
	b.observe(b.tracker.Advance(t))
	return b.log.Incidents(t)
}

func aService(name, uid string, selector bool) *event.Service {
	s := &event.Service{Meta: event.Meta{UID: event.ParseUID(uid), Namespace: "shop", Name: name}, Type: "ClusterIP"}
	if selector {
		s.Selector = map[string]string{"app": name}
	}
	return s
}

func manualEndpoints(ips ...string) *event.Endpoints {
	o := &event.Endpoints{Meta: event.Meta{UID: event.ParseUID("ep/web"), Namespace: "shop", Name: "web"}}
	for _, ip := range ips {
		o.Addresses = append(o.Addresses, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: true})
	}
	return o
}

// aSlice returns an EndpointSlice of shop/web that is owned by the Service with this UID. The address "web-1" is ready,
// and "-web-1" is not.
func aSlice(owner string, addresses ...string) *event.EndpointSlice {
	o := &event.EndpointSlice{
		Meta: event.Meta{UID: event.ParseUID("slice/" + owner), Namespace: "shop", Name: "web-" + owner}, Service: "web",
		Owner: event.ParseUID(owner), ManagedBy: "endpointslice-controller.k8s.io",
	}
	for i, a := range addresses {
		x := event.Address{IP: fmt.Sprintf("10.0.0.%d", i+1), Ready: true}
		if a[0] == '-' {
			x.Ready, a = false, a[1:]
		}
		x.UID = event.ParseUID("pod/" + a)
		o.Addresses = append(o.Addresses, x)
	}
	return o
}

func aPod(name string, status event.Status, reason string) *event.Pod {
	return &event.Pod{
		Meta: event.Meta{UID: event.ParseUID("pod/" + name), Namespace: "shop", Name: name}, Phase: "Running", Node: "node-1",
		Ready: &event.Condition{Status: status, Reason: reason}, Containers: []event.Container{{Name: "app", Image: "app:1", State: "running", Ready: true}},
	}
}

// runsNo checks that no incident is ongoing an hour later.
func (b *tracked) runsNo(t *testing.T) []incident.Incident {
	t.Helper()
	all := b.asOf(3600)
	lossesComeFirst(t, b.found)
	if len(all) == 0 {
		t.Error("no incident")
	}
	for _, x := range all {
		if x.State != incident.StateResolved {
			t.Errorf("an hour later: %s %s", x.State, x.Summary)
		}
	}
	return all
}

func TestNobodyWaitsForDeletedManualSlicesBesideThoseOfPods(t *testing.T) {
	made := aSlice("made")
	made.Owner, made.ManagedBy, made.Addresses = event.UID{}, "someone", manualEndpoints("192.0.2.1").Addresses
	b := newTracked(grace40).starts(aService("web", "s1", true), aPod("web-1", event.StatusTrue, ""), aSlice("s1", "web-1"), made)
	b.at(10).is(event.Deleted, made)
	b.runsNo(t)
}

func TestNobodyWaitsForAnAddressThatTruncatedEndpointsLeaveOut(t *testing.T) {
	endpoints := func(addresses ...string) *event.Endpoints {
		o := manualEndpoints()
		o.Truncated, o.Addresses = true, aSlice("s1", addresses...).Addresses
		return o
	}
	b := newTracked(track.Settings{AddressSource: event.KindEndpoints})
	b.starts(aService("web", "s1", true), aPod("web-1", event.StatusTrue, ""), aPod("web-2", event.StatusTrue, ""), endpoints("web-1", "web-2"))
	b.at(10).is(event.Modified, aPod("web-1", event.StatusFalse, "ContainersNotReady"), endpoints("web-2", "-web-1"))
	b.at(11).is(event.Modified, endpoints("web-2"))
	b.at(20).is(event.Modified, aPod("web-1", event.StatusTrue, ""), endpoints("web-1", "web-2"))
	equal(t, "end", b.runsNo(t)[0].End.Time, zero.Add(seconds(11)))
}

func TestAnOutageThatWaitsForItsCauseComesBeforeTheNext(t *testing.T) {
	b := newTracked(grace40).starts(aService("web", "s1", true), aPod("web-1", event.StatusTrue, ""), aPod("web-2", event.StatusTrue, ""), aSlice("s1", "web-1", "-web-2"))
	b.at(10).is(event.Modified, aSlice("s1", "-web-1", "-web-2"))
	b.at(10.2).is(event.Modified, aSlice("s1", "-web-1", "web-2"))
	b.at(10.3).is(event.Modified, aPod("web-2", event.StatusFalse, "ContainersNotReady"))
	b.at(10.35).is(event.Modified, aSlice("s1", "-web-1", "-web-2"))
	b.asOf(12)
	b.at(20).is(event.Modified, aPod("web-2", event.StatusTrue, ""), aSlice("s1", "web-1", "web-2"))
	outages := map[string]time.Duration{}
	for _, x := range b.runsNo(t) {
		equal(t, "outages of "+x.Summary, x.Outages, 1)
		outages[x.Cause.String()] += time.Duration(x.OutageTime)
	}
	equal(t, "the first", outages["unknown"], seconds(0.2))
	equal(t, "the second", outages["probe_failed"], seconds(9.65))
}

// TestANewPodOfTheSameNameHasASpanOfItsOwn checks the timeline after a StatefulSet pod fails its probe, is deleted, and
// is replaced by a pod with the same name.
func TestANewPodOfTheSameNameHasASpanOfItsOwn(t *testing.T) {
	pod := func(uid string, status event.Status) *event.Pod {
		p := aPod("web-0", status, "ContainersNotReady")
		p.UID, p.Owner = event.ParseUID("pod/"+uid), "StatefulSet/web"
		return p
	}
	b := newTracked(grace40).starts(aService("web", "s1", true), pod("a", event.StatusTrue), aPod("web-9", event.StatusTrue, ""), aSlice("s1", "a", "web-9"))
	b.at(10).is(event.Modified, pod("a", event.StatusFalse), aSlice("s1", "-a", "web-9"))
	b.at(20).is(event.Deleted, pod("a", event.StatusFalse)).is(event.Modified, aSlice("s1", "web-9"))
	b.at(21).is(event.Added, pod("b", event.StatusFalse)).is(event.Modified, aSlice("s1", "-b", "web-9"))
	b.at(25).is(event.Modified, pod("b", event.StatusTrue), aSlice("s1", "b", "web-9"))
	b.at(600).is(event.Modified, pod("b", event.StatusFalse), aSlice("s1", "-b", "web-9"))
	b.at(610).is(event.Modified, pod("b", event.StatusTrue), aSlice("s1", "b", "web-9"))
	var spans []string
	for _, x := range b.runsNo(t) {
		for _, s := range x.Timeline {
			if s.Track == incident.TrackPod {
				spans = append(spans, fmt.Sprintf("%v-%v", s.Start.Sub(zero), s.End.Sub(zero)))
			}
		}
	}
	equal(t, "spans of the pod", strings.Join(spans, ", "), "10m0s-10m10s, 10s-20s")
}

// TestIncidentsHaveTheOutagesOfTheTracker changes three pods of a Service at random, with the events of pods and slice
// in any order. When all pods are ready again, no incident may be ongoing, and the incidents' outages must equal the
// tracker's.
func TestIncidentsHaveTheOutagesOfTheTracker(t *testing.T) {
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newTracked(grace40)
		b.log = New(1000)
		b.tracker, b.found = track.New(grace40), nil
		pods := [][2]string{{"a"}, {"b"}, {"c"}} // each pod has a name and the reason why it is not ready
		pod := func(i int) event.Object {
			if pods[i][1] == "" {
				return aPod(pods[i][0], event.StatusTrue, "")
			}
			return aPod(pods[i][0], event.StatusFalse, pods[i][1])
		}
		slice := func() event.Object {
			var all []string
			for _, p := range pods {
				if p[1] != "" {
					p[0] = "-" + p[0]
				}
				all = append(all, p[0])
			}
			return aSlice("s1", all...)
		}
		b.starts(aService("web", "s1", true), pod(0), pod(1), pod(2), slice())
		now := 10.0
		for range 4 + r.IntN(8) {
			now += []float64{0.05, 0.3, 0.7, 3, 30}[r.IntN(5)]
			i := r.IntN(len(pods))
			if pods[i][1] != "" {
				pods[i][1] = ""
			} else {
				pods[i][1] = []string{"ContainersNotReady", "ReadinessGatesNotReady", "Other"}[r.IntN(3)]
			}
			events := [][]event.Object{{slice()}, {pod(i), slice()}, {slice(), nil, pod(i)}, {pod(i), nil, slice()}}[r.IntN(4)]
			for _, o := range events {
				if o == nil {
					now += 0.2
					continue
				}
				b.at(now).is(event.Modified, o)
			}
		}
		for i := range pods {
			pods[i][1] = ""
			b.at(now+5).is(event.Modified, pod(i))
		}
		b.is(event.Modified, slice())
		b.checkOutages(t, seed, now+3600)
	}
}

func (b *tracked) checkOutages(t *testing.T, seed uint64, at float64) {
	t.Helper()
	outages, spent := 0, time.Duration(0)
	incidents := b.asOf(at)
	lossesComeFirst(t, b.found)
	for _, x := range incidents {
		outages, spent = outages+x.Outages, spent+time.Duration(x.OutageTime)
		if x.State == incident.StateOngoing {
			t.Errorf("seed %d: still running: %s", seed, x.Summary)
		}
	}
	b.tracker.Settle()
	service := b.tracker.Services(zero.Add(seconds(at)), nil)[0]
	want, wantSpent := 0, time.Duration(0)
	for class, n := range service.Outages {
		want, wantSpent = want+int(n), wantSpent+service.OutageTime[class]
	}
	if outages != want || spent.Round(time.Millisecond) != wantSpent.Round(time.Millisecond) {
		t.Errorf("seed %d: %d outages of %v, want %d of %v", seed, outages, spent, want, wantSpent)
	}
}
