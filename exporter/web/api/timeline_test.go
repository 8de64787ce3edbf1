package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

func eks(host string) string { return host + ".eu-central-1.compute.internal" }

func TestDifferentNamesHaveDifferentLabels(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"short", []string{"node-1", "node-2"}, []string{"node-1", "node-2"}},
		{"EKS", []string{eks("ip-192-168-101-123"), eks("ip-192-168-101-124")}, []string{"ip-192-168-101-123…", "ip-192-168-101-124…"}},
		{"GKE", []string{"gke-prod-default-pool-1a2b3c4d-x1y2", "gke-prod-default-pool-1a2b3c4d-z3w4"}, []string{"gke-prod-def…2b3c4d-x1y2", "gke-prod-def…2b3c4d-z3w4"}},
		{"regions", []string{"node-1.eu-central-1.example.com", "node-1.us-central-1.example.com"}, []string{"node-1…", "node-1…(2)"}},
		{"ten thousand letters", []string{strings.Repeat("a", 5000) + "x" + strings.Repeat("a", 5000), strings.Repeat("a", 5000) + "y" + strings.Repeat("a", 5000)}, []string{"aaaaaaaaaaaa…aaaaaaaaaaa", "aaaaaaaaaaaa…aaaaaaaaaaa(2)"}},
		{"letters of several bytes", []string{strings.Repeat("ä", 40) + "1", strings.Repeat("ä", 40) + "2"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, l := range labelsOf(silentNodes(1, c.names...)) {
				name, _, _ := strings.Cut(l, ": ")
				got = append(got, name)
			}
			if c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if slices.Sort(got); len(slices.Compact(got)) != len(c.names) || !utf8.ValidString(strings.Join(got, "")) {
				t.Errorf("labels %q of %q", got, c.names)
			}
		})
	}
}

// TestLabelsFitOnAPhone checks all lanes, with names and durations of any length, and more names than rows.
func TestLabelsFitOnAPhone(t *testing.T) {
	for lane := range lanes {
		for _, times := range []int{1, 2, 12} {
			var names []string
			for i := range 46 {
				names = append(names, eks(fmt.Sprintf("ip-10-0-1-%d", 10+i)))
			}
			x := silentNodes(times, names...)
			for i := range x.Timeline {
				x.Timeline[i].Track = lane
			}
			all := labelsOf(x)
			for _, l := range all {
				if n := utf8.RuneCountInString(l); n > maxLabel+3 {
					t.Errorf("%d characters: %s", n, l)
				}
			}
			if last := all[len(all)-1]; len(all) != maxRows+1 || last != lanes[lane]+": 40 more not drawn" {
				t.Errorf("%d rows, the last is %q", len(all), last)
			}
		}
	}
}

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
