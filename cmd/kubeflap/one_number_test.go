package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// checkRecommendations checks at the end of a story that every place recommends the same grace period.
func (x *scenario) checkRecommendations(w *storyWatcher) {
	if x.recommends == nil {
		w.finish()
		return
	}
	for place, got := range w.recommendations() {
		if want := x.recommends[0]; got != want && (want > 0 || !strings.HasPrefix(place, "API")) {
			w.t.Errorf("%s recommends %g, want %g", place, got, want)
		}
	}
}

// finish ends the recording.
func (w *storyWatcher) finish() {
	w.pipeline.finish()
	if err := w.writer.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// recommendations returns each source's recommended grace period in seconds. 0 means no recommendation.
func (w *storyWatcher) recommendations() map[string]float64 {
	all := map[string]float64{}
	for i, x := range w.incidents() {
		to := time.Duration(x.Numbers.RecommendedGracePeriod).Seconds()
		if all[fmt.Sprintf("API %d", i)] = to; to > 0 && !strings.Contains(x.Remedy, fmt.Sprintf(" to %gs", to)) {
			w.t.Errorf("the remedy does not repeat %g: %s", to, x.Remedy)
		}
	}
	live, err := w.pipeline.advice()
	if err != nil {
		w.t.Fatal(err)
	}
	all["advise, live"] = time.Duration(live.Heartbeats.Recommended).Seconds()
	families := gather(w.t, w.pipeline)
	all["metric"] = 0
	for _, f := range families {
		if f.GetName() == "kubeflap_node_monitor_grace_period_recommended_seconds" {
			all["metric"] = f.Metric[0].GetGauge().GetValue()
		}
	}
	w.finish()
	url := serveIncidents(w.t, w.file)
	for _, args := range [][]string{{"--recording", w.file}, {"--url", url}} {
		_, out, errOut := kubeflap(w.t, append([]string{"advise", "--output=json"}, args...)...)
		var given report.Report
		if err := json.Unmarshal([]byte(out), &given); err != nil {
			w.t.Fatalf("%v: %s", err, errOut)
		}
		all["advise "+args[0]] = time.Duration(given.Heartbeats.Recommended).Seconds()
		set := 0.0
		for _, x := range given.Recommendations {
			set = max(set, time.Duration(x.Recommended).Seconds())
		}
		all["a finding of advise "+args[0]] = set
	}
	return all
}

// checkGraceTable checks that the comparison of grace periods repeats the recommendation, and that no slow node turns
// Unknown with the recommended grace period. If there is no recommendation, this applies to the current grace period.
func (w *storyWatcher) checkGraceTable(recommended time.Duration) {
	w.t.Helper()
	p := w.pipeline
	table, facts := p.gracePeriods(), p.incidents.GracePeriod(p.now())
	if len(table.Rows) == 0 {
		return
	}
	want := "kubeflap recommends no other grace period. "
	if recommended > 0 {
		want = "Recommended grace period: " + phrase.Duration(recommended) + " "
	}
	if !slices.ContainsFunc(table.Notes, func(note string) bool { return strings.HasPrefix(note, want) }) {
		w.t.Errorf("no note begins with %q: %q", want, table.Notes)
	}
	if facts.Period == 0 || facts.Managed {
		return // nothing can be recommended
	}
	// The other silences are those with another cause, of deleted nodes, and those that are ongoing.
	others := w.cluster.Deleted
	for _, x := range p.incidents.Silences(p.now()) {
		if x.Verdict != verdict.Node || x.Reason != verdict.Slow && x.Reason != verdict.Late || x.Last.Equal(p.now()) {
			others += int(x.Count)
		}
	}
	for _, row := range table.Rows {
		if row.GracePeriod >= cmp.Or(recommended, facts.Period).Seconds() && row.Silences.AtLeast > others {
			w.t.Errorf("%s silences turn a node Unknown with %g s, although at most %d were not the silence of a slow node that returned", row.Silences, row.GracePeriod, others)
		}
	}
}
