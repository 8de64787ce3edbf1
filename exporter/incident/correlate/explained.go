package correlate

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// noteWhy adds what the API says about a lost address to the incident.
func (l *pods) noteWhy(r *ledger.Record, x transition.AddressLost) {
	r.Quotes.Add(incident.Quote{Cause: x.Cause, Words: x.Why}, 1)
	if x.Pod.Name == "" {
		return
	}
	key := podKey{x.Namespace, x.Pod.Name}
	p := l.named(key, x.Time)
	if !slices.Contains(p.records, r) {
		p.records = append(p.records, r)
	}
	switch e := (incident.Entry{Time: x.Time, Name: key.String(), Why: x.Why}); {
	case x.Relabelled:
		e.Kind = incident.PodRelabelled
		r.Evidence.Add(e)
	case x.Cause == cause.PodEvicted && x.Why != "" && p.down.IsZero() && p.evictedBy == nil:
		e.Kind = incident.PodWasEvicted
		r.Evidence.Add(e)
	}
}

// lossExplained handles a better explanation of a loss. If a container exits after a probe failed, the incident becomes one
// of the exit, with the probe as evidence.
func (l *services) lossExplained(x transition.PodLossExplained) {
	key := podKey{x.Namespace, x.Pod.Name}
	p := l.pods.lately[key]
	if p == nil {
		return
	}
	var explained []*ledger.Record
	for _, r := range p.records {
		if r = r.Root(); r.Settled || slices.Contains(explained, r) {
			continue
		}
		kind := incident.PodWasEvicted
		if x.Cause == cause.ContainerExit {
			kind = incident.PodExited
		}
		if x.Cause == cause.ContainerExit && r.Cause == cause.ProbeFailed {
			s := r.Subject
			s.Cause = x.Cause
			r = l.Merge([]*ledger.Record{r}, s, x.Time)
		}
		r.Quotes.Add(incident.Quote{Cause: x.Cause, Words: x.Why}, 1)
		l.Note(r, incident.Entry{Kind: kind, Time: x.Time, Name: key.String(), Why: x.Why})
		explained = append(explained, r)
	}
}
