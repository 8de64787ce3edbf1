package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// podMemory is how long a pod that is not ready is waited for, maxNotes what is remembered of one.
	podMemory = time.Hour
	maxNotes  = 6
)

type podKey struct{ namespace, name string }

func (k podKey) String() string { return k.namespace + "/" + k.name }

// pod is what a pod did lately. It belongs to no incident before it cost a Service an address.
type pod struct {
	at    event.Moment
	notes []fact
	// down is since when it is not Ready, 0 if it is; span is that on a timeline.
	down event.Moment
	span *stretch
}

func keyOfPod(x transition.Pod) podKey { return podKey{x.Namespace, x.Name} }

// notePod notes what a pod did.
func (l *Log) notePod(x transition.Pod, t time.Time, note fact) {
	note.at = l.moment(t)
	l.podOf(keyOfPod(x), t).note(keyOfPod(x), note)
}

func (l *Log) podOf(key podKey, t time.Time) *pod {
	p := l.pods[key]
	if p == nil {
		p = &pod{}
		l.pods[key] = p
	}
	p.at = l.moment(t)
	return p
}

func (p *pod) note(key podKey, f fact) {
	if len(p.notes) < maxNotes {
		f.first = key.String()
		p.notes = append(p.notes, f)
	}
}

// podTurned follows a pod's Ready. What the node did to it belongs to the node's
// incident at once, all else waits until it costs an address.
func (l *Log) podTurned(x transition.PodReadyChanged) {
	key := keyOfPod(x.Pod)
	if x.To == event.StatusTrue {
		if p := l.pods[key]; p != nil {
			l.end(&p.span, x.Time)
			p.down, p.at = 0, l.moment(x.Time)
		}
		return
	}
	if x.From != event.StatusTrue {
		return
	}
	p := l.podOf(key, x.Time)
	// Of one that had its name before: it was never seen to recover.
	l.end(&p.span, x.Time)
	p.down = l.moment(x.Time)
	switch x.Cause {
	case cause.NodeHeartbeatLost, cause.NodeNotReady, cause.KubeletRestart:
		if x.Node == "" {
			return
		}
		r, name := l.recordOfNodesPod(x.Pod, x.Time, x.Cause, x.Trigger), key.String()
		r.byCause[x.Cause] += 0
		r.add(fact{at: l.moment(x.Time), stage: stagePods, first: name})
		p.span = l.span(r, LanePod, name, x.Time)
		l.touched(r, x.Time)
	default:
		p.note(key, fact{at: l.moment(x.Time), stage: stagePods})
	}
}

// takePodNotes takes over what is known of the pod of a lost address.
func (l *Log) takePodNotes(r *record, x transition.AddressLost, a *address) {
	key := podKey{x.Namespace, x.Pod.Name}
	p := l.pods[key]
	if p == nil || x.Pod.Name == "" {
		return
	}
	for _, note := range p.notes {
		// What comes after the first loss is measured from a change that was long over.
		if note.stage == stageStale && a.losses > 1 {
			continue
		}
		r.add(note)
	}
	p.notes = nil
	if p.down != 0 && p.span == nil && !x.Cause.EndsPod() {
		p.span = l.span(r, LanePod, key.String(), l.time(p.down))
	}
}

// observeWatch tells the incidents of nodes when kubeflap itself was blind.
func (l *Log) observeWatch(f fact) {
	for _, r := range l.active {
		if r.ongoing() && r.story != storyWorkload && r.story != storyService {
			r.add(f)
		}
	}
}
