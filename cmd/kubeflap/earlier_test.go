package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// recordSegment records a segment of one hour with a lease that is renewed every ten minutes.
func recordSegment(t *testing.T, dir string, begins time.Time, h head) {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	lease := &event.Lease{Meta: clustertest.Meta("Lease", "kube-node-lease", "node-1"), RenewTime: begins, DurationSeconds: 40}
	events := []event.Event{
		{Seen: begins, Kind: event.KindLease, Type: event.Listing},
		{Seen: begins, Kind: event.KindLease, Type: event.Listed, Object: lease},
		{Seen: begins, Kind: event.KindLease, Type: event.Synced},
	}
	for i := range 6 {
		renewed := *lease
		renewed.RenewTime = begins.Add(time.Duration(i+1) * 10 * time.Minute)
		events = append(events, event.Event{Seen: renewed.RenewTime, Kind: event.KindLease, Type: event.Modified, Object: &renewed})
	}
	recordAll(t, dir, func(time.Time) json.RawMessage { return text }, events)
}

// TestWhereTheReplayBegins records a segment for each hour of two days.
func TestWhereTheReplayBegins(t *testing.T) {
	const hours = 48
	a, b := scope{"a", ""}, scope{"b", ""}
	shop := scope{"a", "shop"}
	ongoing := func(since int) func(int) head {
		return func(hour int) head {
			h := head{scope: a}
			if hour > since {
				h.Incidents.Ongoing = []ledger.Ongoing{{ID: "x", Start: storyBegin.Add(time.Duration(since)*time.Hour + time.Minute)}}
			}
			return h
		}
	}
	since := func(hour int, before, after scope) func(int) head {
		return func(h int) head {
			if h < hour {
				return head{scope: before}
			}
			return head{scope: after}
		}
	}
	for name, c := range map[string]struct {
		heads   func(hour int) head
		watched scope
		damaged []int
		want    int
		err     error
	}{
		"two hours ago":                                   {since(0, a, a), a, nil, 46, nil},
		"where an incident began":                         {ongoing(40), a, nil, 40, nil},
		"a day ago, because an incident has lasted":       {ongoing(3), a, nil, 24, nil},
		"where the cluster was not another one":           {since(47, b, a), a, nil, 47, nil},
		"where the namespace was not another one":         {since(47, shop, a), a, nil, 47, nil},
		"the cluster is unknown":                          {since(0, a, a), scope{}, nil, 46, nil},
		"the cluster was unknown":                         {since(0, scope{}, scope{}), a, nil, 46, nil},
		"another cluster":                                 {since(0, b, b), a, nil, 0, errOtherCluster},
		"one namespace instead of all":                    {since(0, a, a), shop, nil, 0, errOtherCluster},
		"another namespace":                               {since(0, scope{"", "bank"}, scope{"", "bank"}), scope{"", "shop"}, nil, 0, errOtherCluster},
		"the last segment is damaged":                     {since(0, a, a), a, []int{47}, 45, nil},
		"the segment that began two hours ago is damaged": {since(0, a, a), a, []int{46}, 47, nil},
		// A process that was killed before it recorded anything leaves such a segment.
		"the segment that began two hours ago is empty": {since(0, a, a), a, []int{-46}, 45, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := memoryDir(t)
			for hour := range hours {
				recordSegment(t, dir, storyBegin.Add(time.Duration(hour)*time.Hour), c.heads(hour))
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
			if err != nil || len(files) != hours {
				t.Fatalf("%d segments, %v", len(files), err)
			}
			for _, hour := range c.damaged {
				if hour >= 0 {
					write(t, files[hour], "no recording")
				} else if err := os.Truncate(files[-hour], 10); err != nil {
					t.Fatal(err)
				}
			}
			found, err := findEarlier(dir, c.watched)
			if !errors.Is(err, c.err) || err == nil && c.err != nil {
				t.Fatal(err)
			}
			if c.err != nil {
				return
			}
			if want := storyBegin.Add(time.Duration(c.want) * time.Hour); !found.begins.Equal(want) {
				t.Errorf("begins %s, want %s", found.begins, want)
			}
			for e, err := range found.events {
				if err != nil || e.Seen.Before(found.begins) {
					t.Fatal(e.Seen, err)
				}
			}
		})
	}
}

// TestTheReplayBeginsAfterTheClockWasSetBack records a segment while the clock is ahead, and another one after it was set back.
func TestTheReplayBeginsAfterTheClockWasSetBack(t *testing.T) {
	for _, ahead := range []time.Duration{30 * time.Minute, 90 * time.Minute, 3 * time.Hour} {
		dir, settings := memoryDir(t), trackerSettings()
		recordSegment(t, dir, storyBegin.Add(ahead), head{})
		recordSegment(t, dir, storyBegin, head{})
		found, err := findEarlier(dir, scope{})
		if err != nil || !found.begins.Equal(storyBegin) {
			t.Errorf("%v ahead: begins %+v, want %s: %v", ahead, found, storyBegin, err)
		}
		now := storyBegin.Add(time.Hour + time.Minute)
		p := newPipeline(settings, func() time.Time { return now }, silent)
		data := dataFlags{dir: dir, size: 1 << 30, age: 1e6 * time.Hour}
		if _, err := data.enablePersistence(t.Context(), silent.logger, p, watcherOf(t, "http://127.0.0.1:1")); err != nil {
			t.Fatal(err)
		}
		if got := p.tracker.Coverage(now).Since; !got.Equal(storyBegin) {
			t.Errorf("%v ahead: watched since %s", ahead, got)
		}
	}
}

// TestTheReplayBeginsAfterTheClockWasBehind records a segment while the clock is a day behind, for example because the machine
// has just started. The replay begins when it was set right, with the incidents that were ongoing then.
func TestTheReplayBeginsAfterTheClockWasBehind(t *testing.T) {
	dir, right := memoryDir(t), storyBegin.Add(90*time.Minute)
	recordSegment(t, dir, storyBegin, head{})
	recordSegment(t, dir, storyBegin.Add(-24*time.Hour), head{})
	recordSegment(t, dir, right, head{})
	if found, err := findEarlier(dir, scope{}); err != nil || !found.begins.Equal(right) {
		t.Errorf("begins %s, want %s: %v", found.begins, right, err)
	}
}

// watcherOf returns a watcher of the cluster with this API server.
func watcherOf(t *testing.T, server string) *watch.Watcher {
	t.Helper()
	w, err := newWatcher(silent.logger, &clusterFlags{Choice: apiclient.Choice{Kubeconfig: kubeconfigFor(t, server)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestASignalEndsTheReplay checks that kubeflap recognizes that it stops during the replay. signal.NotifyContext cancels with
// a cause that is not context.Canceled.
func TestASignalEndsTheReplay(t *testing.T) {
	dir := memoryDir(t)
	recordSegment(t, dir, storyBegin, head{})
	ctx, cancel := context.WithCancelCause(t.Context())
	found, err := findEarlier(dir, scope{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("terminated signal received"))
	p := newPipeline(defaultSettings(), func() time.Time { return storyBegin }, silent)
	if p.resume(ctx, found, storyBegin, slog.New(slog.DiscardHandler)); !p.started.IsZero() {
		t.Error("it goes on after a part of the replay")
	}
}
