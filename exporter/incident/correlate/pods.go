package correlate

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/nodes"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// podMemory is the maximum time for which an unready pod is remembered. maxNotes limits the number of observations
	// per pod.
	podMemory = time.Hour
	maxNotes  = 6
)

// pods keeps recent observations about pods. When a Service loses the address of a pod, the pod's observations are
// added to the incident.
type pods struct {
	nodes  *nodes.Nodes
	lately map[podKey]*pod
}

type podKey struct{ namespace, name string }

func (k podKey) String() string { return k.namespace + "/" + k.name }

type pod struct {
	// The field seen is the time of the pod's last transition.
	seen  time.Time
	notes []incident.Entry
	// The field down is the time at which the pod stopped being Ready. It is zero while the pod is Ready. The timeline
	// span starts at this time.
	down time.Time
	span *incident.Span
	// The field evictedBy is the incident of the node from which the pod was evicted because the node is not Ready.
	evictedBy *ledger.Record
	// The list records holds the incidents in which the pod lost addresses since it was last Ready.
	records []*ledger.Record
}

func (l *pods) named(key podKey, t time.Time) *pod {
	p := l.lately[key]
	if p == nil {
		p = &pod{}
		l.lately[key] = p
	}
	p.seen = t
	return p
}

// note keeps an observation about a pod.
func (l *pods) note(x transition.Pod, e incident.Entry) {
	key := podKey{x.Namespace, x.Name}
	if p := l.named(key, e.Time); len(p.notes) < maxNotes {
		e.Name = key.String()
		p.notes = append(p.notes, e)
	}
}

// podReadyChanged handles a change of pod readiness. A change that the node caused belongs to the node's incident.
func (l *pods) podReadyChanged(x transition.PodReadyChanged) {
	key := podKey{x.Namespace, x.Name}
	if x.To == event.StatusTrue {
		if p := l.lately[key]; p != nil {
			p.span = p.span.Close(x.Time)
			p.down, p.seen, p.evictedBy, p.records = time.Time{}, x.Time, nil, nil
		}
		return
	}
	if x.From != event.StatusTrue {
		return
	}
	p := l.named(key, x.Time)
	// The span may belong to an earlier pod with the same name. kubeflap may not have seen that pod recover.
	p.span = p.span.Close(x.Time)
	p.down = x.Time
	switch {
	case !x.Cause.OfNode():
		l.note(x.Pod, incident.Entry{Kind: incident.PodNotReady, Time: x.Time, Why: x.Why})
	case x.Node != "":
		r := l.nodes.RecordOfPod(x.Pod, x.Time, x.Cause, x.Trigger)
		r.ByCause[x.Cause] += 0
		p.span = r.Timeline.Begin(incident.TrackPod, key.String(), x.Time)
		l.nodes.Note(r, incident.Entry{Kind: incident.PodNotReady, Time: x.Time, Name: key.String()})
	}
}

// podEvicted counts an evicted pod in the incident of its node, which then explains the loss of the pod's addresses. It
// ignores the pod if the node has no incident.
func (l *pods) podEvicted(x transition.PodEvicted) {
	r := l.nodes.Current(x.Node, x.Time)
	if r == nil {
		return
	}
	r.Evicted++
	l.named(podKey{x.Namespace, x.Pod.Name}, x.Time).evictedBy = r
	entry := incident.Entry{
		Kind: incident.EvictedUnknown, Time: x.Time, Name: podKey{x.Namespace, x.Pod.Name}.String(), Number: incident.UnknownToleration, Duration: x.After,
	}
	if x.Status == event.StatusFalse {
		entry.Kind = incident.EvictedNotReady
	}
	if x.Tolerates != nil {
		entry.Number = int(x.Tolerates.Seconds)
	}
	l.nodes.Note(r, entry)
}

// addTo adds the facts about the pod of a lost address to the incident. The parameter `again` is set if the incident already
// contained an earlier loss of the address.
func (l *pods) addTo(r *ledger.Record, x transition.AddressLost, again bool) {
	r.Quotes.Add(incident.Quote{Cause: x.Cause, Words: x.Why}, 1)
	if x.Pod.Name == "" {
		return
	}
	key := podKey{x.Namespace, x.Pod.Name}
	p := l.named(key, x.Time)
	for _, note := range p.notes {
		// The stale period may have begun before the first loss, so it does not explain a later one.
		if note.Kind != incident.PodWasStale || !again {
			r.Evidence.Add(note)
		}
	}
	p.notes = nil
	if !p.down.IsZero() && p.span == nil && !x.Cause.EndsPod() {
		p.span = r.Timeline.Begin(incident.TrackPod, key.String(), p.down)
	}
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

// podGone ends the timeline span of a pod that left its Service, because a new pod of a StatefulSet may get the same
// name.
func (l *pods) podGone(key podKey, t time.Time) {
	if p := l.lately[key]; p != nil {
		p.span = p.span.Close(t)
		p.down, p.evictedBy, p.records = time.Time{}, nil, nil
	}
}

func (l *pods) sweep(t time.Time) {
	for key, p := range l.lately {
		if p.span == nil && p.seen.Before(t.Add(-ledger.Quiet)) || p.seen.Before(t.Add(-podMemory)) {
			delete(l.lately, key)
		}
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
