package compare

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/lab/truth"
)

func TestDifferences(t *testing.T) {
	const flips = `kubeflap_service_address_flips_total{namespace="a",service="s",to="ready"}`
	const age = `kubeflap_node_heartbeat_age_seconds{node="n"}`
	const resets = `kubeflap_service_endpoints_resets_total{namespace="a",selector="true",service="s"}`
	for name, c := range map[string]struct {
		truth, reported truth.Counts
		want            int
	}{
		"equal counts agree":                   {truth.Counts{flips: 2}, truth.Counts{flips: 2}, 0},
		"a count must be exact":                {truth.Counts{flips: 2}, truth.Counts{flips: 3}, 1},
		"a missing series is a difference":     {truth.Counts{flips: 0}, truth.Counts{}, 1},
		"an additional series is a difference": {truth.Counts{}, truth.Counts{flips: 0}, 1},
		"other metrics are ignored":            {truth.Counts{}, truth.Counts{"go_goroutines": 9}, 0},
		"a time may differ slightly":           {truth.Counts{age: 1}, truth.Counts{age: 2.5}, 0},
		"a time must not differ much":          {truth.Counts{age: 1}, truth.Counts{age: 3.5}, 1},
		"resets of 0 may be missing":           {truth.Counts{resets: 0}, truth.Counts{}, 0},
		"resets above 0 must be equal":         {truth.Counts{resets: 1}, truth.Counts{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Differences(c.truth, c.reported); len(got) != c.want {
				t.Errorf("got %d differences, want %d:\n%s", len(got), c.want, Table(got))
			}
		})
	}
}

func TestCountsAreComparedFromTheBase(t *testing.T) {
	const flips = `kubeflap_service_address_flips_total{namespace="a",service="s",to="ready"}`
	const ready = `kubeflap_service_addresses{namespace="a",service="s",state="ready"}`
	const longest = `kubeflap_node_heartbeat_interval_max_seconds{node="n"}`
	base := Base{
		Truth:    truth.Counts{flips: 1, ready: 4, longest: 2},
		Reported: truth.Counts{flips: 10, ready: 4, longest: 30},
	}
	want := base.expected(truth.Counts{flips: 3, ready: 2, longest: 11})
	reported := truth.Counts{flips: 12, ready: 2, longest: 30}
	if got := Differences(want, reported); len(got) > 0 {
		t.Errorf("unexpected differences:\n%s", Table(got))
	}
	reported[flips] = 13
	if got := Differences(want, reported); len(got) != 1 {
		t.Errorf("got %d differences, want one:\n%s", len(got), Table(got))
	}
}

func TestReplay(t *testing.T) {
	const beats, flips = `kubeflap_node_heartbeat_interval_seconds_count`, `kubeflap_pod_inplace_updates_total{namespace="a"}`
	const age = `kubeflap_node_heartbeat_age_seconds{node="n"}`
	for name, c := range map[string]struct {
		change func(truth.Counts)
		blind  bool
		ok     bool
	}{
		"the same":                     {func(truth.Counts) {}, false, true},
		"the end of the recording":     {func(c truth.Counts) { c[beats] = 6 }, false, true},
		"one heartbeat less":           {func(c truth.Counts) { c[beats] = 4 }, false, false},
		"other heartbeats while blind": {func(c truth.Counts) { c[beats] = 4 }, true, true},
		"one count less while blind":   {func(c truth.Counts) { c[flips] = 1 }, true, false},
		"one series less":              {func(c truth.Counts) { delete(c, flips) }, false, false},
		"another age":                  {func(c truth.Counts) { c[age] = 99 }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Span{
				before: truth.Counts{beats: 5, flips: 2, age: 3},
				after:  truth.Counts{beats: 6, flips: 2, age: 3},
				blind:  c.blind,
			}
			reported := truth.Counts{beats: 5, flips: 2, age: 3}
			c.change(reported)
			if err := s.Replayed(reported); (err == nil) != c.ok {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// The recording ended during a heartbeat interval. That interval can be longer than the maxima before and after it.
func TestReplayThatEndedBeforeAHeartbeat(t *testing.T) {
	const longest = `kubeflap_node_heartbeat_interval_max_seconds{node="n"}`
	s := Span{
		before: truth.Counts{longest: 9.2},
		after:  truth.Counts{longest: 0.1},
		lasted: 600 * time.Millisecond,
	}
	if err := s.Replayed(truth.Counts{longest: 11.5}); err != nil {
		t.Error(err)
	}
	if err := s.Replayed(truth.Counts{longest: 12}); err == nil {
		t.Error("an interval that did not occur is accepted")
	}
}
