// Package archive merges the incidents from before a restart of kubeflap with the current ones.
package archive

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
)

// settleTime is the time after the first lists in which an incident that was ongoing before the restart may reappear.
// The cause of a lost address is known at most 15 s after the loss.
const settleTime = time.Minute

// Saved is the state of an incident at a point in time.
type Saved struct {
	Time     time.Time
	Incident incident.Incident
}

// Archive holds the incidents from before a restart. An incident that was ongoing then either continues as one or several
// that this process sees, or is recorded as ended while kubeflap was not watching. Archive is safe for concurrent use.
type Archive struct {
	mu sync.Mutex
	// stopped is the last time at which the previous process is known to have watched. watching is the time at which
	// this process had received all lists; it is zero until then.
	stopped, watching time.Time
	past              []*past
	// interrupted holds the ongoing incidents as they were when kubeflap stopped.
	interrupted []incident.Incident
}

// past is an incident from before the restart.
type past struct {
	incident.Incident
	// stopped is the last time at which a process is known to have watched the ongoing incident.
	stopped time.Time
	// open is set while it is undecided whether the incident is still ongoing.
	open bool
	// by lists the IDs of the current incidents that continue this one.
	by []string
	// standing holds the objects that had not recovered at stopped.
	standing []*standing
}

// New returns an archive of saved incidents. The process that saved them watched until stopped.
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

// Stopped returns the time until which the previous process watched, or zero if it is unknown.
func (a *Archive) Stopped() time.Time { return a.stopped }

// interrupt records that nobody has watched an ongoing incident since stopped. It was saved at a time.
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

// openBlind returns the index of the timeline interval in which nobody watches, or -1 if it is closed.
func (p *past) openBlind() int {
	return slices.IndexFunc(p.Timeline, func(s incident.Span) bool { return s.Track == incident.TrackBlind && s.End.IsZero() })
}

// Interrupted returns the incidents that may still be ongoing, as they were when kubeflap stopped. If they are saved, a
// process that ends before it knows more does not hide this interruption.
func (a *Archive) Interrupted() []incident.Incident { return a.interrupted }

// watched closes the timeline interval in which nobody watched the incident. The clock may have been set back since then.
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

// Ended returns the incidents that were ongoing before the restart and, as of t, are known to have ended since. It
// returns each incident once.
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

// end ends an incident that no current one continues.
func (p *past) end(watching time.Time) {
	p.open = false
	unseen := false
	switch seen := p.lastRecovery(); {
	case !p.End.IsZero():
	case !seen.IsZero():
		p.End = seen
	default:
		p.End, unseen = watching, true
		p.Evidence = append(p.Evidence, incident.Evidence{
			Time: watching, Until: watching, Count: 1,
			Text: "everything had recovered when kubeflap watched again. The incident ended " + between(p.stopped, watching),
		})
	}
	if p.End.Before(p.Start) {
		p.End = p.Start // the clock was set back
	}
	p.Incident = p.asOf(p.End)
	p.State, p.standing = incident.StateEnded, nil
	if unseen {
		p.Summary = strings.TrimSuffix(p.Summary, ".") + ". It ended while kubeflap was not watching, " + between(p.stopped, watching) + "."
	}
}

func between(from, to time.Time) string {
	if !from.Before(to) {
		return "before " + to.UTC().Format(time.TimeOnly) + " UTC"
	}
	return "between " + from.UTC().Format(time.TimeOnly) + " and " + to.UTC().Format(time.TimeOnly) + " UTC"
}

// Find returns the past incident with an ID, and the IDs of the current incidents that continue it.
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
