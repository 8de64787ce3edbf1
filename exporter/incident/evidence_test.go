package incident

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

var shopWeb = transition.Service{Namespace: "shop", Name: "web"}

func TestEntriesAreBatched(t *testing.T) {
	cases := []struct {
		name    string
		entries []Entry
		want    []string
	}{
		{"pods of a node", []Entry{
			{Kind: PodNotReady, Time: at(0), Name: "shop/a"}, {Kind: PodNotReady, Time: at(14), Name: "shop/b"},
		}, []string{"2 pods (shop/a first): Ready turned from True to False"}},
		{"a pod that flaps counts once", []Entry{
			{Kind: PodNotReady, Time: at(0), Name: "shop/a"}, {Kind: PodNotReady, Time: at(5), Name: "shop/a"},
		}, []string{"pod shop/a: Ready turned from True to False"}},
		{"not after 15 s", []Entry{
			{Kind: NodeNotReady, Time: at(0), Name: "a"}, {Kind: NodeNotReady, Time: at(16), Name: "b"},
		}, []string{"a: the kubelet itself reports Ready=False", "b: the kubelet itself reports Ready=False"}},
		{"not after the address is back", []Entry{
			{Kind: AddressLost, Time: at(0), Service: shopWeb},
			{Kind: AddressReturned, Time: at(1), Service: shopWeb},
			{Kind: AddressLost, Time: at(2), Service: shopWeb},
		}, []string{"shop/web lost 1 ready address", "shop/web: 1 address is back in rotation", "shop/web lost 1 ready address"}},
		{"the longest of several durations", []Entry{
			{Kind: NodeReady, Time: at(0), Name: "a", Duration: 4 * time.Second},
			{Kind: NodeReady, Time: at(1), Name: "b", Duration: 5 * time.Second},
			{Kind: HeartbeatMissed, Time: at(2), Name: "a", Duration: 40 * time.Second},
			{Kind: HeartbeatMissed, Time: at(2), Name: "b", Duration: 40 * time.Second},
		}, []string{"2 nodes (a first): Ready again after up to 5s", "2 nodes (a first): no heartbeat for 40s (the whole grace period)"}},
		{"no duration of 0", []Entry{
			{Kind: NodeReady, Time: at(0), Name: "a"}, {Kind: OutageEnded, Time: at(1), Service: shopWeb}, {Kind: EvictedUnknown, Time: at(2), Name: "shop/a", Number: UnknownToleration},
		}, []string{"a: Ready again", "shop/web has a ready address again", "pod shop/a: evicted right after the node turned Unknown"}},
		{"not with another toleration", []Entry{
			{Kind: EvictedUnknown, Time: at(30), Name: "shop/a", Number: 30, Duration: 30 * time.Second}, {Kind: EvictedUnknown, Time: at(31), Name: "shop/b", Number: 31, Duration: 31 * time.Second},
		}, []string{"pod shop/a: evicted 30s after the node turned Unknown (tolerationSeconds 30)", "pod shop/b: evicted 31s after the node turned Unknown (tolerationSeconds 31)"}},
		{"also beyond the first 12 entries", slices.Concat(rebootsOf(11), []Entry{
			{Kind: NodeNotReady, Time: at(500), Name: "a"}, {Kind: WatchWorks, Time: at(501), Name: "pods", Duration: time.Second}, {Kind: NodeNotReady, Time: at(502), Name: "b"},
		}), []string{"2 nodes (a first): the kubelet itself reports Ready=False", "kubeflap's watch of pods works again after 1s"}},
		{"a Lease that each lost node finds again", slices.Concat([]Entry{
			{Kind: APIServerStopped, Time: at(0), Name: "apiserver-a"}, {Kind: APIServerStopped, Time: at(1), Name: "apiserver-b"},
		}, rebootsOf(10), []Entry{
			{Kind: APIServerStopped, Time: at(0), Name: "apiserver-a"}, {Kind: APIServerStopped, Time: at(1), Name: "apiserver-b"},
		}), []string{"2 API servers (apiserver-a first): last Lease renewals before an interruption"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var list Entries
			for _, e := range c.entries {
				list.Add(e)
			}
			var got []string
			for _, e := range list.described() {
				if !strings.Contains(e.Text, "bootID") {
					got = append(got, e.Text)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// rebootsOf returns entries of a node that are too far apart to be combined.
func rebootsOf(n int) []Entry {
	var all []Entry
	for i := range n {
		all = append(all, Entry{Kind: NodeRebooted, Time: at(20 * float64(i+1)), Name: "node-1"})
	}
	return all
}

func TestNoSpanOutlastsTheIncident(t *testing.T) {
	var l Timeline
	l.Begin(TrackAddress, "shop/web", at(1)).Close(at(50))
	l.Begin(TrackNode, "node-1", at(0))
	spans := l.described(at(40))
	if len(spans) != 2 || spans[0].Track != TrackNode || !spans[0].End.Equal(at(40)) || !spans[1].End.Equal(at(40)) {
		t.Errorf("spans %+v", spans)
	}
	if !l.described(time.Time{})[0].End.IsZero() {
		t.Error("a span of a running incident has an end")
	}
}

// TestTrimKeepsWhatIsShown checks that a large incident shows the same after it has released what is not shown.
func TestTrimKeepsWhatIsShown(t *testing.T) {
	f := NewFacts(ControlPlaneSubject())
	for i := range 300 {
		f.AddNode(fmt.Sprintf("node-%d", i))
		f.EffectOn(transition.Service{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}).Lost = i
	}
	before := f.Outline(verdict.Decision{}, time.Time{})
	f.Trim()
	after := f.Outline(verdict.Decision{}, time.Time{})
	if !reflect.DeepEqual(after, before) || after.NodesLeftOut != 200 || after.ServicesLeftOut != 250 {
		t.Errorf("after:\n%+v\nbefore:\n%+v", after, before)
	}
	if f.nodes.len() != 300 || len(f.effects.of) != MaxServices {
		t.Errorf("%d nodes, effects on %d Services", f.nodes.len(), len(f.effects.of))
	}
}
