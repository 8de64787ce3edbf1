package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

const (
	// podMemory is how long a pod that is not ready is waited for, maxNotes what is remembered of one.
	podMemory = time.Hour
	maxNotes  = 6
)

type podKey struct{ namespace, name string }

// pod is what a pod did lately. It belongs to no incident before it cost a Service an address.
type pod struct {
	// name is its namespace and name.
	name  string
	at    time.Time
	notes []fact
	// down is since when it is not Ready, zero if it is; span is that on a timeline.
	down time.Time
	span *stretch
}

func (l *Log) observePod(x flap.Finding) {
	key := podKey{x.Namespace, x.Pod}
	if x.Kind == flap.PodReadyChanged {
		l.podTurned(key, x)
		return
	}
	p := l.podOf(key, x.Time)
	note := fact{at: l.moment(x.Time), stage: stageUpdated, first: p.name}
	switch x.Kind {
	case flap.PodReadyWasStale:
		note.stage, note.longest = stageStale, x.Duration
	case flap.PodRestartedSilently:
		note.stage = stageSilent
	}
	p.note(note)
}

func (l *Log) podOf(key podKey, t time.Time) *pod {
	p := l.pods[key]
	if p == nil {
		p = &pod{name: key.namespace + "/" + key.name}
		l.pods[key] = p
	}
	p.at = t
	return p
}

func (p *pod) note(f fact) {
	if len(p.notes) < maxNotes {
		p.notes = append(p.notes, f)
	}
}

// podTurned follows a pod's Ready. What the node did to it belongs to the node's
// incident at once, all else waits until it costs an address.
func (l *Log) podTurned(key podKey, x flap.Finding) {
	if x.To == "true" {
		if p := l.pods[key]; p != nil {
			l.end(&p.span, x.Time)
			p.down, p.at = time.Time{}, x.Time
		}
		return
	}
	if x.From != "true" {
		return
	}
	p := l.podOf(key, x.Time)
	// Of one that had its name before: it was never seen to recover.
	l.end(&p.span, x.Time)
	p.down = x.Time
	switch x.Cause {
	case flap.CauseNodeHeartbeatLost, flap.CauseNodeNotReady, flap.CauseKubeletRestart:
		if x.Node == "" {
			return
		}
		r := l.recordOfNodesPod(x)
		r.byCause[x.Cause] += 0
		r.add(fact{at: l.moment(x.Time), stage: stagePods, first: p.name})
		p.span = l.span(r, LanePod, p.name, x.Time)
		l.touched(r, x.Time)
	default:
		p.note(fact{at: l.moment(x.Time), stage: stagePods, first: p.name})
	}
}

// takePodNotes takes over what is known of the pod of a lost address.
func (l *Log) takePodNotes(r *record, x flap.Finding, a *address) {
	p := l.pods[podKey{x.Namespace, x.Pod}]
	if p == nil || x.Pod == "" {
		return
	}
	for _, note := range p.notes {
		// What comes after the first loss is measured from a change that was long over.
		if note.stage == stageStale && a.losses > 1 {
			continue
		}
		if note.stage == stageStale {
			r.stale = max(r.stale, note.longest)
		}
		r.add(note)
	}
	p.notes = nil
	if !p.down.IsZero() && p.span == nil && !goesOnPurpose(x.Cause) {
		p.span = l.span(r, LanePod, p.name, p.down)
	}
}

// observeWatch tells the incidents of nodes when kubeflap itself was blind.
func (l *Log) observeWatch(x flap.Finding) {
	for _, r := range l.active {
		if !r.ongoing() || r.story == storyWorkload || r.story == storyService {
			continue
		}
		f := fact{at: l.moment(x.Time), stage: stageBlind, first: x.Resource.String()}
		if x.Kind == flap.WatchWorks {
			f.stage, f.longest = stageSees, x.Duration
		}
		r.add(f)
	}
}
