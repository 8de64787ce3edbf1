package flightrecorder

import (
	"sync/atomic"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// pacedAbove is the number of queued events above which lists must wait. The rest of the queue is reserved for
	// watch events.
	pacedAbove = queueSize / 2
	// paceStep is the time between two checks of the queue. The recorder cannot empty the queue in this time.
	paceStep = time.Millisecond
	// paceAtMost is the maximum time that a list waits for room in the queue. After this time, Pace assumes that the
	// disk hangs.
	paceAtMost = 5 * time.Second
)

type pace struct {
	// hung is set while the disk hangs. off is set when Run ends. Lists do not wait if either is set.
	hung, off atomic.Bool
}

// Pace slows a list down to the speed of the disk. The list of a large cluster arrives faster than it can be written.
// If the event is an object of a list, Pace waits for room in the queue, unless the disk hangs. Call Pace after Record,
// without holding a lock.
func (r *Recorder) Pace(ev event.Event) {
	if ev.Type != event.Listed {
		return
	}
	for end := time.Now().Add(paceAtMost); len(r.queue) > pacedAbove; time.Sleep(paceStep) {
		if r.pace.hung.Load() || r.pace.off.Load() {
			return
		}
		if time.Now().After(end) {
			r.pace.hung.Store(true)
			return
		}
	}
	r.pace.hung.Store(false)
}
