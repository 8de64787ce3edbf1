// Package archive merges the incidents from before a restart of kubeflap (past incidents) with those from after the
// restart (current incidents).
package archive

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// settleTime is how long Ended waits after kubeflap has listed the cluster. During this time, an incident may turn out
// to be ongoing. For example, kubeflap may need 15 s to assign an unready address to an incident.
const settleTime = time.Minute

// Saved is the state of an incident at a given time.
type Saved struct {
	Time     time.Time
	Incident incident.Incident
}

// Archive holds the past incidents. An incident that was ongoing when kubeflap stopped may continue as one or several
// current incidents. Otherwise, Archive determines when it ended. Archive is safe for concurrent use.
type Archive struct {
	mu sync.Mutex
	// stopped is the time until which the previous process is known to have watched the cluster.
	stopped time.Time
	past    []*past
	// The list interrupted holds the ongoing incidents as they were when kubeflap stopped.
	interrupted []incident.Incident
}

// past is an incident from before the restart.
type past struct {
	incident.Incident
	// The field stopped is the time until which kubeflap is known to have watched the incident before the restart.
	stopped time.Time
	// listedAt is the time at which the current process finished listing the objects of the incident. It is zero until
	// then. The flag checked is set once Check has compared the incident with the cluster.
	listedAt time.Time
	checked  bool
	// The flag ongoing is set if the incident was ongoing when kubeflap stopped. The flag unresolved initially has the
	// same value. It becomes false when the incident ends, or when a current incident continues this incident.
	ongoing, unresolved bool
	// continuedBy holds the IDs of the current incidents that continue this incident. The field joined is the newest
	// result of merging them with this incident, or nil.
	continuedBy []string
	joined      *incident.Incident
	// openObjects holds the objects that had not recovered when kubeflap stopped.
	openObjects []*openObject
	// silentSince is the start of the longest silence that was ongoing when kubeflap stopped. It is zero if no node was
	// silent.
	silentSince time.Time
	// The flag unseen is set if everything recovered while kubeflap was not watching.
	unseen bool
}

// New returns an archive of the saved incidents. The parameter `stopped` is the time at which the previous process
// stopped watching the cluster. If `stopped` is zero, New uses the time at which that process last saved an ongoing
// incident.
func New(saved []Saved, stopped time.Time) *Archive {
	a := &Archive{stopped: stopped}
	for _, s := range saved {
		if stopped.IsZero() && s.Incident.State != incident.StateEnded && s.Time.After(a.stopped) {
			a.stopped = s.Time
		}
	}
	for _, s := range saved {
		if s.Incident.IsDisplaced() {
			continue
		}
		ongoing := s.Incident.State != incident.StateEnded
		p := &past{Incident: s.Incident, ongoing: ongoing, unresolved: ongoing}
		if ongoing {
			p.interrupt(s.Time, a.stopped)
			a.interrupted = append(a.interrupted, p.Incident)
		}
		a.past = append(a.past, p)
	}
	return a
}

// Stopped returns the time until which the previous process is known to have watched the cluster. It returns zero if
// this time is unknown.
func (a *Archive) Stopped() time.Time { return a.stopped }

// interrupt records that kubeflap stopped watching while the incident was ongoing. The parameter `saved` is the time at
// which the incident was saved. The parameter `stopped` is the time until which the previous process is known to have
// watched the cluster.
func (p *past) interrupt(saved, stopped time.Time) {
	i := p.openBlind()
	if p.stopped = stopped; i >= 0 {
		// The previous process ended before it had listed the objects of this incident.
		p.stopped = p.Timeline[i].Start
	}
	p.hold()
	p.silentSince = p.lastHeartbeat()
	for n := range p.Timeline {
		if n != i && p.Timeline[n].End.IsZero() {
			p.Timeline[n].End = p.stopped
		}
	}
	if i >= 0 {
		return
	}
	p.runOutages(stopped.Sub(saved))
	p.lengthen(&p.Incident, stopped, true)
	p.note(stopped, "kubeflap stopped watching")
	p.Timeline = append(p.Timeline, incident.Span{Track: incident.TrackBlind, Start: stopped})
}

func (p *past) note(t time.Time, text string) {
	p.Evidence = append(slices.Clone(p.Evidence), incident.Evidence{Time: t, Until: t, Count: 1, Text: text})
}

// lastHeartbeat returns the start of the longest silence that was ongoing when the incident was saved. It returns zero
// if no node was silent.
func (p *past) lastHeartbeat() (last time.Time) {
	for _, s := range p.Timeline {
		if s.Track == incident.TrackHeartbeat && s.End.IsZero() && (last.IsZero() || s.Start.Before(last)) {
			last = s.Start
		}
	}
	return last
}

// lengthen extends the longest heartbeat interval if a node was still silent at t. It also updates the texts that
// mention this interval. If atLeast is set, the texts say "at least".
func (p *past) lengthen(x *incident.Incident, t time.Time, atLeast bool) {
	n := &x.Numbers
	lasted := t.Sub(p.silentSince)
	if p.silentSince.IsZero() || n.LongestInterval == 0 || lasted <= n.LongestInterval {
		return
	}
	was := phrase.Duration(n.LongestInterval)
	n.LongestInterval, n.LongestAtLeast = lasted, atLeast
	is := phrase.Duration(n.LongestInterval)
	if atLeast {
		is = "at least " + is
	}
	for _, before := range []string{" for at least ", " for up to ", " for "} {
		if !strings.Contains(x.Happened, before+was) {
			continue
		}
		after := " for " + is
		if before == " for up to " && !atLeast {
			after = before + is
		}
		x.Happened = strings.Replace(x.Happened, before+was, after, 1)
		x.Summary = strings.Replace(x.Summary, before+was, after, 1)
		return
	}
}

// openBlind returns the index of the TrackBlind span that has not ended, or -1 if there is none.
func (p *past) openBlind() int {
	return slices.IndexFunc(p.Timeline, func(s incident.Span) bool { return s.Track == incident.TrackBlind && s.End.IsZero() })
}

// IDs returns all IDs of the past incidents that have ended.
func (a *Archive) IDs() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.State == incident.StateEnded {
			all = append(append(all, p.ID), p.Also...)
		}
	}
	return all
}

// Interrupted returns the incidents that were ongoing when kubeflap stopped, in their state at that time. The caller
// saves them, so that the next process also knows about the interruption.
func (a *Archive) Interrupted() []incident.Incident { return a.interrupted }

// watched ends the timeline span in which kubeflap was not watching. If the clock was set back during this span,
// watched sets the length of the span to zero.
func (p *past) watched(watching time.Time) {
	i := p.openBlind()
	if i < 0 {
		return
	}
	if watching.Before(p.stopped) {
		p.stopped = watching
	}
	p.Timeline = slices.Clone(p.Timeline) // readers may still hold the previous slice
	p.Timeline[i].Start, p.Timeline[i].End = p.stopped, watching
}

// WatchedKinds reports which objects the current process has listed and watches.
type WatchedKinds struct {
	// Services covers both Services and their addresses.
	Nodes, Services bool
}

// covers reports whether the process has listed all objects that the incident affects.
func (s WatchedKinds) covers(p *past) bool {
	of := func(isNode bool) bool {
		return isAboutNodes(p.Scope) == isNode && len(p.openObjects) == 0 || slices.ContainsFunc(p.openObjects, func(h *openObject) bool { return (h.node != "") == isNode })
	}
	return (s.Nodes || !of(true)) && (s.Services || !of(false))
}

// Watching records the objects that the current process has listed and watches at t.
func (a *Archive) Watching(t time.Time, kinds WatchedKinds) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.listedAt.IsZero() && kinds.covers(p) {
			p.listedAt = t
			p.watched(t)
		}
	}
}

// Ended returns the incidents that were ongoing before the restart and are known to have ended by t. It returns each
// incident only once.
func (a *Archive) Ended(t time.Time) (ended []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if !p.unresolved || !p.checked || p.hasOpenObjects() {
			continue
		}
		if p.recoveredAt().IsZero() { // kubeflap has not seen this incident recover
			if t.Sub(p.listedAt) < settleTime {
				continue
			}
			p.recoverUnseen()
		}
		if p.quietFor(t) >= record.Quiet {
			p.end()
			ended = append(ended, p.Incident)
		}
	}
	return ended
}

// end ends a past incident that no current incident continues.
func (p *past) end() {
	p.unresolved = false
	p.End = p.recoveredAt()
	p.Incident = p.asOf(p.End)
	p.State, p.openObjects = incident.StateEnded, nil
	p.closeHypotheses()
}

// closeHypotheses adds a note to each hypothesis that was undecided when kubeflap stopped.
func (p *past) closeHypotheses() {
	const before = "unknown when kubeflap stopped: "
	p.Considered = slices.Clone(p.Considered)
	for i := range p.Considered {
		if c := &p.Considered[i]; c.Holds == verdict.Unknown && !strings.HasPrefix(c.Because, before) {
			c.Because = before + c.Because
		}
	}
}

// recoverUnseen records that everything had already recovered when kubeflap resumed watching.
func (p *past) recoverUnseen() {
	p.State, p.End, p.unseen = incident.StateRecovered, p.listedAt, true
	if p.listedAt.Before(p.Start) {
		p.End = p.Start // the clock was set back
	}
	p.note(p.listedAt, "everything had recovered when kubeflap resumed watching. The incident ended "+between(p.stopped, p.listedAt))
}

// endedUnseen adds a sentence to the summary if the incident ended while kubeflap was not watching. Such an incident
// ends at the same time as a TrackBlind span.
func (p *past) endedUnseen(x *incident.Incident) {
	for _, s := range x.Timeline {
		if s.Track != incident.TrackBlind || x.End.IsZero() || !s.End.Equal(x.End) {
			continue
		}
		sentence := "It ended while kubeflap was not watching, " + between(s.Start, s.End) + "."
		if !strings.HasSuffix(x.Summary, sentence) {
			x.Summary = strings.TrimSuffix(x.Summary, ".") + ". " + sentence
		}
	}
}

func between(from, to time.Time) string {
	if !from.Before(to) {
		return "before " + to.UTC().Format(time.TimeOnly) + " UTC"
	}
	return "between " + from.UTC().Format(time.TimeOnly) + " and " + to.UTC().Format(time.TimeOnly) + " UTC"
}

// Find returns the past incident with the given ID, and the IDs of the current incidents that continue it. The result
// ok is false if there is no such incident, or if newer incidents have displaced it.
func (a *Archive) Find(t time.Time, id string) (x incident.Incident, current []string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.ID != id && !slices.Contains(p.Also, id) {
			continue
		}
		x, shown := p.alone(t)
		return x, slices.Clone(p.continuedBy), shown
	}
	return incident.Incident{}, nil, false
}

// alone returns the incident as of t without the current incidents. If it was merged with current incidents that are
// now displaced, alone returns the last merged state instead. If this state has no end, the result `shown` is false.
func (p *past) alone(t time.Time) (x incident.Incident, shown bool) {
	if p.joined == nil || p.hasOpenObjects() {
		return p.asOf(t), true
	}
	x = *p.joined
	if x.End.IsZero() {
		return x, false
	}
	if t.Sub(x.End) >= record.Quiet {
		x.State = incident.StateEnded
	}
	return x, true
}
