// Package archive merges the incidents from before a restart of kubeflap (past incidents) with those that kubeflap
// detected after the restart (current incidents).
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

// settleTime is the time after the initial lists within which an incident that was ongoing before the restart may
// reappear. This time exceeds the 15 s for which a lost address may wait for its cause before it joins an incident.
const settleTime = time.Minute

// Saved is the state of an incident at Time.
type Saved struct {
	Time     time.Time
	Incident incident.Incident
}

// Archive holds the incidents from before a restart. An incident that was ongoing at the restart may continue as one or
// several current incidents. Otherwise, Archive determines when the incident ended. Archive is safe for concurrent use.
type Archive struct {
	mu sync.Mutex
	// stopped is the last time at which the previous process is known to have watched the cluster.
	stopped time.Time
	past    []*past
	// interrupted holds the ongoing incidents as they were when kubeflap stopped.
	interrupted []incident.Incident
}

// past is an incident from before the restart.
type past struct {
	incident.Incident
	// stopped is the last time at which an earlier process is known to have watched the ongoing incident.
	stopped time.Time
	// watching is the time at which the current process had received the lists that the incident is compared with. It is
	// zero if a list is still missing. looked is set after the first comparison.
	watching time.Time
	looked   bool
	// ongoing is set if the incident was ongoing when kubeflap stopped. open is set while it is undecided whether the
	// incident is still ongoing.
	ongoing, open bool
	// The field by lists the IDs of the current incidents that continue this one. joined is the newest result of merging
	// them with this incident, or nil if there is none.
	by     []string
	joined *incident.Incident
	// held holds the objects that had not recovered when kubeflap stopped.
	held []*held
	// silentSince is the last heartbeat of a node that was still silent when kubeflap stopped, or zero if there was none.
	silentSince time.Time
	// unseen is set if everything recovered while kubeflap was not watching.
	unseen bool
}

// New returns an archive of saved incidents. The parameter stopped is the time until which the process that saved the
// incidents watched the cluster. If it is zero, New assumes that the process watched until it last saved an ongoing
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
		p := &past{Incident: s.Incident, ongoing: ongoing, open: ongoing}
		if ongoing {
			p.interrupt(s.Time, a.stopped)
			a.interrupted = append(a.interrupted, p.Incident)
		}
		a.past = append(a.past, p)
	}
	return a
}

// Stopped returns the last time at which the previous process is known to have watched the cluster, or zero if unknown.
func (a *Archive) Stopped() time.Time { return a.stopped }

// interrupt records that kubeflap stopped watching while the incident was ongoing. The parameter stopped is the last
// time at which the previous process is known to have watched the cluster. The parameter saved is the time at which the
// incident was saved.
func (p *past) interrupt(saved, stopped time.Time) {
	i := p.openBlind()
	if p.stopped = stopped; i >= 0 {
		// The previous process ended before it knew whether the incident was still ongoing.
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

// note adds evidence.
func (p *past) note(t time.Time, text string) {
	p.Evidence = append(slices.Clone(p.Evidence), incident.Evidence{Time: t, Until: t, Count: 1, Text: text})
}

// lastHeartbeat returns the last heartbeat of the node that has been silent for the longest time, or zero if no node was
// silent when the incident was saved.
func (p *past) lastHeartbeat() (last time.Time) {
	for _, s := range p.Timeline {
		if s.Track == incident.TrackHeartbeat && s.End.IsZero() && (last.IsZero() || s.Start.Before(last)) {
			last = s.Start
		}
	}
	return last
}

// lengthen extends the longest interval between heartbeats if a node was still silent at t. It also updates the texts.
// If the parameter atLeast is set, the interval may have been longer.
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

// openBlind returns the index of the ongoing timeline span in which kubeflap is not watching, or -1 if there is none.
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

// Interrupted returns the incidents that may still be ongoing, as they were when kubeflap stopped. The caller saves
// these incidents, so that the interruption is known even if the current process also ends soon.
func (a *Archive) Interrupted() []incident.Incident { return a.interrupted }

// watched ends the timeline span in which kubeflap was not watching. If the clock was set back during this span, the
// parameter watching is earlier than the field stopped.
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

// Sight reports which objects the current process has listed and watches.
type Sight struct {
	// Services includes addresses.
	Nodes, Services bool
}

// shows reports whether the incident can be compared with the cluster.
func (s Sight) shows(p *past) bool {
	of := func(isNode bool) bool {
		return ofNodes(p.Scope) == isNode && len(p.held) == 0 || slices.ContainsFunc(p.held, func(h *held) bool { return (h.node != "") == isNode })
	}
	return (s.Nodes || !of(true)) && (s.Services || !of(false))
}

// Watching records that, at t, the current process sees the objects in the parameter sight.
func (a *Archive) Watching(t time.Time, sight Sight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.watching.IsZero() && sight.shows(p) {
			p.watching = t
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
		if !p.open || !p.looked || p.stands() {
			continue
		}
		if p.recoveredAt().IsZero() { // only a current incident could show that this one is still ongoing
			if t.Sub(p.watching) < settleTime {
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
	p.open = false
	p.End = p.recoveredAt()
	p.Incident = p.asOf(p.End)
	p.State, p.held = incident.StateEnded, nil
	p.closeHypotheses()
}

// closeHypotheses adds a note to each hypothesis that was undecided when kubeflap stopped, because it stays undecided.
func (p *past) closeHypotheses() {
	const before = "unknown when kubeflap stopped: "
	p.Considered = slices.Clone(p.Considered)
	for i := range p.Considered {
		if c := &p.Considered[i]; c.Holds == verdict.Unknown && !strings.HasPrefix(c.Because, before) {
			c.Because = before + c.Because
		}
	}
}

// recoverUnseen records that everything had recovered when kubeflap resumed watching.
func (p *past) recoverUnseen() {
	p.State, p.End, p.unseen = incident.StateRecovered, p.watching, true
	if p.watching.Before(p.Start) {
		p.End = p.Start // the clock was set back
	}
	p.note(p.watching, "everything had recovered when kubeflap resumed watching. The incident ended "+between(p.stopped, p.watching))
}

// endedUnseen adds a sentence to the summary if the incident ended while kubeflap was not watching. In this case, a
// span of TrackBlind ends at the same time as the incident.
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

// Find returns the past incident with the given ID, and the IDs of the current incidents that continue it. The result ok
// is false if there is no such incident, or if newer ones have displaced it.
func (a *Archive) Find(t time.Time, id string) (x incident.Incident, current []string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.ID != id && !slices.Contains(p.Also, id) {
			continue
		}
		x, shown := p.alone(t)
		return x, slices.Clone(p.by), shown
	}
	return incident.Incident{}, nil, false
}

// alone returns the incident as of t, without the current incidents that continue it. If there were such incidents, but
// newer ones have displaced them, alone returns the last known state. It then returns shown=false if the incident was
// still ongoing, because ongoing incidents are not listed either after newer ones have displaced them.
func (p *past) alone(t time.Time) (x incident.Incident, shown bool) {
	if p.joined == nil || p.stands() {
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
