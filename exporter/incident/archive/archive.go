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
	// stopped is the last time at which the previous process is known to have watched the cluster. watching is the time
	// at which the current process had received all lists, or zero if lists are still missing.
	stopped, watching time.Time
	past              []*past
	// interrupted holds the ongoing incidents as they were when kubeflap stopped.
	interrupted []incident.Incident
}

// past is an incident from before the restart.
type past struct {
	incident.Incident
	// stopped is the last time at which an earlier process is known to have watched the ongoing incident.
	stopped time.Time
	// open is set while it is undecided whether the incident is still ongoing.
	open bool
	// by lists the IDs of the current incidents that continue this one.
	by []string
	// standing holds the nodes and Services that may not have recovered when kubeflap stopped.
	standing []*standing
}

// New returns an archive of saved incidents. stopped is the last time at which the previous process is known to have
// watched the cluster. If an incident was saved later, New uses the time of that save instead.
func New(saved []Saved, stopped time.Time) *Archive {
	a := &Archive{stopped: stopped}
	for _, s := range saved {
		if s.Time.After(a.stopped) {
			a.stopped = s.Time
		}
	}
	for _, s := range saved {
		p := &past{Incident: s.Incident, open: s.Incident.State != incident.StateEnded}
		if p.open {
			p.interrupt(s.Time, a.stopped)
			a.interrupted = append(a.interrupted, p.Incident)
		}
		a.past = append(a.past, p)
	}
	return a
}

// Stopped returns the last time at which the previous process is known to have watched the cluster, or zero if unknown.
func (a *Archive) Stopped() time.Time { return a.stopped }

// interrupt records that kubeflap stopped watching while the incident was ongoing. stopped is the last time at which
// the previous process is known to have watched the cluster. saved is the time at which the incident was saved.
func (p *past) interrupt(saved, stopped time.Time) {
	if i := p.openBlind(); i >= 0 {
		// The previous process ended before it knew whether the incident was still ongoing.
		p.stopped = p.Timeline[i].Start
		p.hold()
		return
	}
	p.stopped = stopped
	p.runOutages(stopped.Sub(saved))
	p.hold()
	p.Evidence = append(p.Evidence, incident.Evidence{Time: stopped, Until: stopped, Count: 1, Text: "kubeflap stopped watching"})
	for i := range p.Timeline {
		if p.Timeline[i].End.IsZero() {
			p.Timeline[i].End = stopped
		}
	}
	p.Timeline = append(p.Timeline, incident.Span{Track: incident.TrackBlind, Start: stopped})
}

// openBlind returns the index of the ongoing timeline span in which kubeflap is not watching, or -1 if there is none.
func (p *past) openBlind() int {
	return slices.IndexFunc(p.Timeline, func(s incident.Span) bool { return s.Track == incident.TrackBlind && s.End.IsZero() })
}

// Interrupted returns the incidents that may still be ongoing, as they were when kubeflap stopped. The caller saves
// these incidents, so that the interruption is known even if the current process also ends soon.
func (a *Archive) Interrupted() []incident.Incident { return a.interrupted }

// watched ends the timeline span in which kubeflap was not watching. If the clock was set back during this span,
// watching is earlier than stopped.
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

// Watching records the time at which all resources had been listed. Only the first call has an effect.
func (a *Archive) Watching(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.watching.IsZero() {
		return
	}
	a.watching = t
	for _, p := range a.past {
		p.watched(t)
	}
}

// Ended returns the incidents that were ongoing before the restart and are known to have ended by t. It returns each
// incident only once.
func (a *Archive) Ended(t time.Time) (ended []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watching.IsZero() || t.Sub(a.watching) < settleTime {
		return nil
	}
	for _, p := range a.past {
		if p.open && !p.stands() && (p.lastRecovery().IsZero() || t.Sub(p.lastRecovery()) >= record.Quiet) {
			p.end(a.watching)
			ended = append(ended, p.Incident)
		}
	}
	return ended
}

// end ends a past incident that no current incident continues.
func (p *past) end(watching time.Time) {
	p.open = false
	if p.End.IsZero() {
		if p.End = p.lastRecovery(); p.End.IsZero() {
			p.recoverUnseen(watching)
		}
	}
	if p.End.Before(p.Start) {
		p.End = p.Start // the clock was set back
	}
	p.Incident = p.asOf(p.End)
	p.State, p.standing = incident.StateEnded, nil
	p.endedUnseen(&p.Incident)
}

// recoverUnseen records that everything had recovered when kubeflap watched again.
func (p *past) recoverUnseen(watching time.Time) {
	p.State, p.End = incident.StateRecovered, watching
	p.Evidence = append(slices.Clone(p.Evidence), incident.Evidence{
		Time: watching, Until: watching, Count: 1,
		Text: "everything had recovered when kubeflap watched again. The incident ended " + between(p.stopped, watching),
	})
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

// Find returns the past incident with the given ID, and the IDs of the current incidents that continue it.
func (a *Archive) Find(t time.Time, id string) (x incident.Incident, current []string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.ID != id && !slices.Contains(p.Also, id) {
			continue
		}
		return p.asOf(t), slices.Clone(p.by), true
	}
	return incident.Incident{}, nil, false
}
