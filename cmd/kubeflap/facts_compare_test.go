package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// compare checks that kubeflap reported the expected changes of a segment, and no others. It ignores reported changes up
// to the given time.
func (x *facts) compare(t *testing.T, segment int, reported changes, begin time.Time) {
	t.Helper()
	want, got := x.expected(segment), changes{}
	for key, all := range reported {
		if kind, _, _ := strings.Cut(key, " "); kind == "late" || kind == "missed" {
			continue // the facts do not say when a heartbeat is late
		}
		for _, one := range all {
			if x.within(segment, one.seen) && one.seen.After(begin) {
				got.add(key, one)
			}
		}
	}
	want.sort()
	got.sort()
	keys := map[string]bool{}
	for key := range want {
		keys[key] = true
	}
	for key := range got {
		keys[key] = true
	}
	var faults []string
	for key := range keys {
		if strings.HasPrefix(key, "heartbeat") {
			s := x.Segments[segment]
			got[key] = x.dropFirst(segment, strings.TrimPrefix(key, "heartbeat "), got[key])
			want[key], got[key] = dropNear(want[key], got[key], begin, s.Until)
		}
		if fault := compareChanges(want[key], got[key]); fault != "" {
			faults = append(faults, fmt.Sprintf("segment %d: %s: %s", segment+1, key, fault))
		}
	}
	reportFaults(t, faults)
}

// dropFirst drops the report of a node's first heartbeat. The recorder measures no interval before it. kubeflap reports
// it only if it was late.
func (x *facts) dropFirst(segment int, node string, got []factChange) []factChange {
	for _, f := range x.all {
		if f.Kind == "heartbeat" && f.Object == node && f.Seconds == 0 && x.within(segment, f.Seen) {
			// A kubelet may post its status a moment after it renews its Lease.
			first := slices.IndexFunc(got, func(g factChange) bool { return g.seen.Sub(f.Seen).Abs() < 100*time.Millisecond })
			if first >= 0 {
				got = slices.Delete(got, first, first+1)
			}
		}
	}
	return got
}

// dropNear drops heartbeats near the ends of a segment. Heartbeats never stop, so one of the two watchers may have
// received such a heartbeat outside of the segment.
func dropNear(want, got []factChange, from, until time.Time) (wanted, received []factChange) {
	inside := func(all []factChange) []factChange {
		return slices.DeleteFunc(slices.Clone(all), func(x factChange) bool {
			return x.seen.Sub(from) < receivedWithin || until.Sub(x.seen) < receivedWithin
		})
	}
	// Drop the same number from both, because a heartbeat near the limit may be inside for one watcher only.
	w, g := inside(want), inside(got)
	for len(w) > len(g) && len(w) > 0 && w[0].seen.Sub(from) < 2*receivedWithin {
		w = w[1:]
	}
	for len(g) > len(w) && len(g) > 0 && g[0].seen.Sub(from) < 2*receivedWithin {
		g = g[1:]
	}
	for len(w) > len(g) && len(w) > 0 && until.Sub(w[len(w)-1].seen) < 2*receivedWithin {
		w = w[:len(w)-1]
	}
	for len(g) > len(w) && len(g) > 0 && until.Sub(g[len(g)-1].seen) < 2*receivedWithin {
		g = g[:len(g)-1]
	}
	return w, g
}

func compareChanges(want, got []factChange) string {
	want = dropUnreported(want, got)
	if len(want) != len(got) {
		return fmt.Sprintf("got %d changes, want %d\n\tgot  %s\n\twant %s", len(got), len(want), changesText(got), changesText(want))
	}
	for i, w := range want {
		g := got[i]
		apart := g.seen.Sub(w.seen).Abs()
		switch {
		case g.what != w.what:
			return fmt.Sprintf("change %d is %q, want %q\n\tgot  %s\n\twant %s", i+1, g.what, w.what, changesText(got), changesText(want))
		case apart > receivedWithin:
			return fmt.Sprintf("change %d (%s) was seen %s apart", i+1, w.what, apart)
		case w.cause != "" && g.cause != w.cause:
			return fmt.Sprintf("change %d (%s) has the cause %s, want %s", i+1, w.what, g.cause, w.cause)
		case w.seconds > 0 && math.Abs(g.seconds-w.seconds) > receivedWithin.Seconds():
			return fmt.Sprintf("change %d: an interval of %.1f s, want %.1f s", i+1, g.seconds, w.seconds)
		}
	}
	return ""
}

// dropUnreported drops the losses that kubeflap need not report, unless it reported them.
func dropUnreported(want, got []factChange) []factChange {
	var kept []factChange
	for _, w := range want {
		reported := slices.ContainsFunc(got, func(g factChange) bool {
			return g.what == w.what && g.seen.Sub(w.seen).Abs() < receivedWithin/4
		})
		if reported || !w.optional {
			kept = append(kept, w)
		}
	}
	return kept
}

func changesText(all []factChange) string {
	var texts []string
	for i, x := range all {
		if i == 12 {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, x.seen.UTC().Format("05.000")+" "+cmp.Or(x.what, fmt.Sprintf("%.1fs", x.seconds)))
	}
	return strings.Join(texts, ", ")
}

// expectRemovals checks that kubeflap reported the Services and nodes that were deleted in the gap before a segment, in
// the time from the end of the previous segment to the given time. A recreated Service was deleted, too.
func (x *facts) expectRemovals(t *testing.T, segment int, reported changes, until time.Time) {
	t.Helper()
	before, after := x.existing(segment-1, true), x.existing(segment, false)
	for key, uid := range before {
		removed := 0
		for _, one := range reported[key] {
			if one.what == "removed" && one.seen.After(x.Segments[segment-1].Until) && !one.seen.After(until) {
				removed++
			}
		}
		want := 0
		if after[key] != uid {
			want = 1
		}
		if removed != want {
			t.Errorf("in the gap before segment %d, %s was removed %d times, want %d", segment+1, key, removed, want)
		}
	}
}

// existing returns the UIDs of the Services, and the names of the nodes, that existed at the start or at the end of a
// segment.
func (x *facts) existing(segment int, atEnd bool) map[string]string {
	all := map[string]string{}
	for i := range x.all {
		f := &x.all[i]
		if !x.within(segment, f.Seen) || !atEnd && !f.isStart() || f.Kind != "service" && f.Kind != "node" {
			continue
		}
		key := f.Kind + " " + f.Object
		switch {
		case f.To == absent:
			delete(all, key)
		case f.Kind == "service":
			all[key] = f.To
		default:
			all[key] = "exists"
		}
	}
	return all
}

// silentInGap lists the scenarios in which nodes really fall silent while kubeflap cannot watch.
var silentInGap = []string{"etcd-stall"}

// expectNothingInGap checks that kubeflap reported nothing between two segments, apart from heartbeats and from the
// deletion and creation of Services and nodes.
func (x *facts) expectNothingInGap(t *testing.T, segment int, reported changes, until time.Time) {
	t.Helper()
	before, after := x.existing(segment-1, true), x.existing(segment, false)
	for key, all := range reported {
		kind, object, _ := strings.Cut(key, " ")
		object, _, _ = strings.Cut(object, " ")
		if kind == "heartbeat" || slices.Contains(silentInGap, x.Scenario) {
			continue
		}
		service := "service " + object
		created := kind == "address" && after[service] != "" && after[service] != before[service]
		for _, one := range all {
			// expectRemovals checks the deletions.
			expected := one.what == "removed" && (kind == "service" || kind == "node") || created && strings.HasPrefix(one.what, "added")
			if !expected && one.seen.After(x.Segments[segment-1].Until) && !one.seen.After(until) {
				t.Errorf("in the gap before segment %d: %s: %s", segment+1, key, changesText([]factChange{one}))
			}
		}
	}
}

// expectNoIncidentInGap checks that no incident began between two segments.
func (x *facts) expectNoIncidentInGap(t *testing.T, segment int, all []incident.Incident, until time.Time) {
	t.Helper()
	for i := range all {
		is := &all[i]
		if is.Start.After(x.Segments[segment-1].Until) && !is.Start.After(until) && !slices.Contains(silentInGap, x.Scenario) {
			t.Errorf("in the gap before segment %d, an incident began: %s %s of %s", segment+1, is.Verdict, is.Cause, is.Subject)
		}
	}
}
