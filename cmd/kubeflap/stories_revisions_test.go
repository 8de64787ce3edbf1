package main

import (
	"strings"
	"time"
)

// pageEvidence is the time and the text of an evidence entry.
type pageEvidence struct {
	Time time.Time
	Text string
}

// revisions holds the previous content of the page.
type revisions struct {
	// read is the time at which the page was last read.
	read time.Time
	// verdicts maps incident IDs to verdicts. entries holds all revisions.
	verdicts map[string]shownVerdict
	entries  map[pageEvidence]bool
}

// shownVerdict is a verdict and the time at which the page was last read with it.
type shownVerdict struct {
	verdict string
	read    time.Time
}

// revisedWithin is the maximum time between a new verdict on the page and its evidence entry. Verdicts are reviewed
// every few seconds.
const revisedWithin = 10 * time.Second

// check checks that the page shows an entry for each revised verdict, with the time of the revision, and no entry
// twice.
func (r *revisions) check(w *storyWatcher, all []pageIncident) {
	for i := range all {
		r.checkEntries(w, &all[i])
	}
	for i := range all {
		r.checkVerdict(w, &all[i])
	}
	r.read = w.cluster.Now
}

func (r *revisions) checkEntries(w *storyWatcher, x *pageIncident) {
	shown := map[pageEvidence]bool{}
	for _, entry := range x.Evidence {
		e := pageEvidence{entry.Time, entry.Text}
		if shown[e] {
			w.t.Errorf("at %g: %s: twice: %s %s", w.cluster.Second(), x, e.Time.Format(time.TimeOnly), e.Text)
		}
		shown[e] = true
		if !strings.HasPrefix(e.Text, "the verdict was revised") || r.entries[e] {
			continue
		}
		r.entries[e] = true
		if e.Time.Before(r.read.Add(-time.Second)) { // the page may show an event up to a second late
			w.t.Errorf("at %g: %s: %s: this has the time %s, but was not on the page at %s", w.cluster.Second(), x, e.Text, e.Time.Format(time.TimeOnly), r.read.Format(time.TimeOnly))
		}
	}
}

func (r *revisions) checkVerdict(w *storyWatcher, x *pageIncident) {
	before, known := r.verdicts[x.ID]
	revised := !known || before.verdict == x.Verdict.String() || x.Withdrawn != ""
	for _, e := range x.Evidence {
		revised = revised || e.Time.After(before.read) && strings.HasPrefix(e.Text, "the verdict was revised from "+before.verdict+" to "+x.Verdict.String())
	}
	if !revised && w.cluster.Now.Sub(before.read) > revisedWithin {
		w.t.Errorf("at %g: %s: the verdict was %s at %s, and no revision since then is shown: %v", w.cluster.Second(), x, before.verdict, before.read.Format(time.TimeOnly), x.Evidence)
		revised = true
	}
	if revised {
		r.verdicts[x.ID] = shownVerdict{x.Verdict.String(), w.cluster.Now}
	}
}
