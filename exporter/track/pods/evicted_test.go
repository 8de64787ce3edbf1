package pods

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestShortTolerationsAreCountedByNamespace(t *testing.T) {
	x := New(watches.New(), &transition.List{}, nil, func(*ReadinessLoss) {})
	pod := func(namespace, name string, notReady, unreachable *event.Toleration) *event.Pod {
		return &event.Pod{Meta: event.Meta{UID: event.ParseUID(name), Namespace: namespace, Name: name}, ToleratesNotReady: notReady, ToleratesUnreachable: unreachable}
	}
	after := func(s int64) *event.Toleration { return &event.Toleration{Seconds: s} }
	forever := &event.Toleration{Forever: true}
	for _, p := range []*event.Pod{
		pod("shop", "web-1", after(300), after(10)),
		pod("shop", "web-2", after(60), after(60)),
		pod("shop", "web-3", after(300), after(300)),
		pod("shop", "agent", forever, forever),
		pod("cart", "db", after(0), forever),
		pod("old", "of-version-1", nil, nil),
	} {
		x.Apply(event.Event{Type: event.Added, Kind: event.KindPod, Object: p}, p)
	}
	want := []ShortTolerations{{"cart", 1, 0}, {"shop", 2, 10 * time.Second}}
	if got := x.ShortTolerations(nil); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	longer := pod("shop", "web-1", after(300), after(300))
	x.Apply(event.Event{Type: event.Modified, Kind: event.KindPod, Object: longer}, longer)
	x.Delete(event.Event{Seen: time.Now(), Type: event.Deleted, Kind: event.KindPod}, pod("cart", "db", nil, nil))
	want = []ShortTolerations{{"shop", 1, time.Minute}}
	if got := x.ShortTolerations(nil); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
