package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// continuedWithin is the time after Resume in which an incident that was ongoing before must be found again.
	continuedWithin = time.Minute
	// maxLost limits the lost addresses of an incident in Past. If it has more, it may end too early after a restart.
	maxLost = 1000
)

// Past is what a ledger keeps when kubeflap does not watch for some time.
type Past struct {
	silence.Past
	Ongoing []Ongoing `json:"ongoing"`
}

// Ongoing is an incident that has not ended for good. If the same is found again after a restart, the incident keeps its
// ID and its start.
type Ongoing struct {
	Subject incident.Subject `json:"subject"`
	ID      string           `json:"id"`
	Start   time.Time        `json:"start"`
	// LastFailed is the time of the newest failure.
	LastFailed time.Time `json:"last_failed,omitzero"`
	// Recovered is the time by which everything had recovered, or zero.
	Recovered time.Time            `json:"recovered,omitzero"`
	Outages   []transition.Service `json:"outages,omitempty"`
	// Nodes holds the nodes of an incident of nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Lost holds the losses of addresses that have not been ready since.
	Lost []transition.AddressLost `json:"lost,omitempty"`
}

// Past returns what was known at t. Pass it to Restore.
func (q *Reader) Past(t time.Time) Past {
	l, unlock := q.at(t)
	defer unlock()
	p := Past{Past: l.Silences.Past(t)}
	for _, r := range l.shown {
		if r.Settled || r.Start.After(t) {
			continue
		}
		x := Ongoing{Subject: r.Subject, ID: r.id, Start: r.Start, LastFailed: r.LastFailed, Recovered: r.recovered()}
		for open := range r.Open {
			if open.Track == incident.TrackOutage {
				x.Outages = append(x.Outages, open.Service)
			}
		}
		if r.IsAboutNodes() {
			x.Nodes = r.NodeNames() // some may have recovered since t
		}
		x.Lost = r.stillLost(t)
		p.Ongoing = append(p.Ongoing, x)
	}
	return p
}

// stillLost returns the losses of the addresses that have not been ready since, the first losses first. Lists of all objects
// show that the addresses are not ready, but not when and why they were lost. The verdict of an incident of nodes depends on
// their silences, and lists show only the silence of a node that is still lost. An incident of several nodes also depends on
// which silences belong together. So the result is empty for an incident without such a node.
func (r *Record) stillLost(t time.Time) (all []transition.AddressLost) {
	if r.IsAboutNodes() && (r.Kind != incident.KindNode || !r.Open.HasNode()) {
		return nil
	}
	for _, s := range r.Open {
		if s.Loss != nil && !s.Loss.Time.After(t) {
			all = append(all, *s.Loss)
		}
	}
	slices.SortFunc(all, func(a, b transition.AddressLost) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), a.IP.Compare(b.IP))
	})
	return all[:min(len(all), maxLost)]
}

// Resume returns an incident that was ongoing before kubeflap's observation, which begins at t. Until it is found again, it
// is not reported. If it is not found in time, it ends.
func (l *Ledger) Resume(o Ongoing, t time.Time) *Record {
	r := newRecord(l, o.Subject, o.ID, o.Start)
	r.Failed(o.LastFailed)
	l.Touch(r, cmp.Or(o.Recovered, t.Add(continuedWithin-Quiet)))
	return r
}

// Forget removes those ended incidents for which drop returns true, of those that had ended by t. It does not count them
// as displaced.
func (q *Reader) Forget(t time.Time, drop func(incident.Incident) bool) {
	l, unlock := q.at(t)
	defer unlock()
	l.shown = slices.DeleteFunc(l.shown, func(r *Record) bool { return r.state(l.now) == incident.StateResolved && drop(l.outline(r)) })
}

// StartCounting sets the counters of resolved incidents to zero, and forgets what was not reported at t, because an earlier
// process has reported it. The incidents stay.
func (q *Reader) StartCounting(t time.Time) {
	l, unlock := q.at(t)
	defer unlock()
	clear(l.resolved)
	l.departed = nil
	for _, r := range l.shown {
		r.reported = reported{r.state(t), r.Kind, r.Cause}
	}
}
