package api

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// silentNodes returns an incident in which each of these nodes was silent the given number of times.
func silentNodes(times int, names ...string) *incident.Incident {
	x := &incident.Incident{Start: at(0), Duration: phrase.Seconds(time.Hour)}
	for i := range times {
		for _, name := range names {
			x.Timeline = append(x.Timeline, incident.Span{Track: "heartbeat", Name: name, Start: at(float64(100 * i)), End: end(float64(100*i) + 72)})
		}
	}
	return x
}

func labelsOf(x *incident.Incident) (all []string) {
	for _, r := range Draw(x).Rows {
		all = append(all, r.Label)
	}
	return all
}

func end(seconds float64) phrase.Time { return phrase.Time{Time: at(seconds)} }

// TestMoreBelongsToItsLane checks that a lane does not count the omitted names of the full lane before it.
func TestMoreBelongsToItsLane(t *testing.T) {
	x := silentNodes(1, "a", "b", "c", "d", "e", "f")
	x.Timeline = append(x.Timeline, incident.Span{Track: "outage", Name: "shop/web", Start: at(10), End: end(20)})
	x.Timeline = append(x.Timeline, silentNodes(3, "g", "h").Timeline...)
	all := labelsOf(x)
	if want := []string{"shop/web: no ready address 10s", "no heartbeat: 2 more not drawn"}; !slices.Equal(all[6:], want) {
		t.Errorf("got %q, want %q", all[6:], want)
	}
}

// TestLabels checks what the labels say of overlapping and of repeated spans.
func TestLabels(t *testing.T) {
	x := silentNodes(2, "a")
	for _, second := range []float64{10, 15, 60} {
		x.Timeline = append(x.Timeline, incident.Span{Track: "address", Name: "shop/web", Start: at(second), End: end(second + 10)})
	}
	if want, got := []string{"a: no heartbeat up to 72s, twice", "shop/web: address out 25s, twice"}, labelsOf(x); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
