package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// essence returns the verdict of an incident, whom it concerns, and when. Seconds count from the beginning of the recording.
func (x *pageIncident) essence(begin time.Time, name func(string) string) string {
	names := func(all []string) (other []string) {
		for _, n := range all {
			other = append(other, name(n))
		}
		slices.Sort(other)
		return other
	}
	var services, considered []string
	for _, v := range x.Services {
		services = append(services, v.String())
	}
	for _, c := range x.Considered {
		considered = append(considered, c.Verdict.String()+"="+c.Holds.String())
	}
	text := fmt.Sprintf("%s (%s) of %q from %s", x.Verdict, x.Cause, names(x.Nodes), x.Start.Sub(begin))
	if x.Scope != "control_plane" && x.Scope != "node" {
		text += " " + name(x.Namespace+"/"+x.Subject)
	}
	if !x.End.IsZero() {
		text += fmt.Sprintf(" to %s", x.End.Sub(begin))
	}
	return fmt.Sprintf("%s %q %q %t", text, names(services), considered, x.Withdrawn != "")
}

// essences returns the essence of each incident, under the names that a function returns.
func essences(all []pageIncident, begin time.Time, name func(string) string) string {
	var texts []string
	for i := range all {
		texts = append(texts, all[i].essence(begin, name))
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// inFull returns all that the API says about incidents.
func inFull(t *testing.T) func([]pageIncident) string {
	return func(all []pageIncident) string {
		text, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func sameName(name string) string { return name }

// differs reports where two lists of answers differ first. It returns an empty string if they do not.
func differs(want, got [][]pageIncident, first, second func([]pageIncident) string) string {
	for i := range want {
		a, b := strings.Split(first(want[i]), "\n"), strings.Split(second(got[i]), "\n")
		for j := range max(len(a), len(b)) {
			if j >= len(a) || j >= len(b) || a[j] != b[j] {
				return fmt.Sprintf("look %d, line %d:\n%s\ninstead of\n%s", i+1, j+1, strings.Join(b[min(j, len(b)):], "\n"), strings.Join(a[min(j, len(a)):], "\n"))
			}
		}
	}
	return ""
}

// TestAnswersRestOnTheEvidence changes each story. What does not matter must not change any verdict: another pace, other
// clocks, other names, slower watches, and 500 unrelated objects that flap. Without its deciding evidence, no verdict may remain.
func TestAnswersRestOnTheEvidence(t *testing.T) {
	withoutRaceDetector(t)
	for name, read := range robustStories(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := read(t)
			want := answers(x.events, x.looks, 0)
			x.paces(t, want)
			x.clocksAndNames(t, want)
			x.unrelated(t, want)
			x.replicas(t)
			x.withoutEvidence(t, want)
		})
	}
}

func (x *robustStory) paces(t *testing.T, want [][]pageIncident) {
	for _, step := range []time.Duration{500 * time.Millisecond, 1700 * time.Millisecond} {
		if bad := differs(want, answers(x.events, x.looks, step), inFull(t), inFull(t)); bad != "" {
			t.Errorf("advanced every %s: %s", step, bad)
		}
	}
}

func (x *robustStory) clocksAndNames(t *testing.T, want [][]pageIncident) {
	essence := func(ahead time.Duration, name func(string) string) func([]pageIncident) string {
		return func(all []pageIncident) string { return essences(all, x.events[0].Seen.Add(ahead), name) }
	}
	for _, ahead := range []time.Duration{-7 * time.Hour, 1000*time.Hour + 1234*time.Second} {
		var looks []time.Time
		for _, look := range x.looks {
			looks = append(looks, look.Add(ahead))
		}
		if bad := differs(want, answers(shifted(x.events, ahead), looks, 0), essence(0, sameName), essence(ahead, sameName)); bad != "" {
			t.Errorf("%s ahead: %s", ahead, bad)
		}
	}
	if bad := differs(want, answers(renamed(x.events), x.looks, 0), essence(0, otherName), essence(0, sameName)); bad != "" {
		t.Errorf("renamed: %s", bad)
	}
}

func (x *robustStory) unrelated(t *testing.T, want [][]pageIncident) {
	got := answers(besideUnrelated(x.events, x.healthyNode(want), 1), x.looks, 0)
	essence := func(all []pageIncident) string { return essences(all, x.events[0].Seen, sameName) }
	for i := range got {
		got[i] = slices.DeleteFunc(got[i], func(y pageIncident) bool {
			return ofOthers(y.Namespace) || len(y.Nodes) > 0 && !slices.ContainsFunc(y.Nodes, func(n string) bool { return !ofOthers(n) })
		})
		// More events may show something earlier.
		if sooner := want[min(i+1, len(want)-1)]; essence(got[i]) == essence(sooner) {
			got[i] = want[i]
		}
	}
	if bad := differs(want, got, essence, essence); bad != "" {
		t.Errorf("beside unrelated objects: %s", bad)
	}
}

// causesOf returns the verdict and the cause of each incident.
func causesOf(all []pageIncident) string {
	var texts []string
	for i := range all {
		texts = append(texts, all[i].String()+": "+all[i].Cause.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// replicas lets the watches of another replica be up to 0.3 s late. In the end, it must show the same incidents.
func (x *robustStory) replicas(t *testing.T) {
	if x.isLab {
		return // a second decides, for example between a cordon and an eviction
	}
	end := x.looks[len(x.looks)-1:]
	want := answers(x.events, end, 0)
	for seed := range uint64(3) {
		events := delivered(x.events, 300*time.Millisecond, seed == 0, rand.New(rand.NewPCG(seed, 1)))
		if bad := differs(want, answers(events, end, 0), causesOf, causesOf); bad != "" {
			t.Errorf("another replica (%d): %s", seed, bad)
		}
	}
}

func (x *robustStory) withoutEvidence(t *testing.T, want [][]pageIncident) {
	if x.random {
		return // much happens at once, so there is more than one deciding fact
	}
	last, tried := want[len(want)-1], map[*evidence]bool{}
	for i := range last {
		y := &last[i]
		if y.Withdrawn != "" || y.Verdict.String() == "undecided" {
			continue
		}
		by := y.decidedBy()
		if by == nil {
			t.Errorf("%s: nothing is known of what decides it: %v", y, y.Considered)
			continue
		}
		if tried[by] {
			continue
		}
		tried[by] = true
		rest := answers(by.remove(x.events, y), x.looks[len(x.looks)-1:], 0)[0]
		if y.isStillIn(rest) {
			t.Errorf("%s, although what decides it was removed: %s\n%s", y, y.Summary, essences(rest, x.events[0].Seen, sameName))
		}
	}
}
