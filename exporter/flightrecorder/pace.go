package flightrecorder

import (
	"sync/atomic"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// pacedAbove is the number of queued events above which lists wait. The rest of the queue is for watch events.
	pacedAbove = queueSize / 2
	// paceStep is the time between two checks of the queue. In this time, the recorder writes much less than half of
	// the queue.
	paceStep = time.Millisecond
	// paceAtMost is the maximum time that a list waits for room. If there is still no room, the disk is considered to
	// hang.
	paceAtMost = 5 * time.Second
)

// pace is the state of Pace.
type pace struct {
	// hung is set while the disk hangs. off is set after the end of Run. While either is set, lists do not wait.
	hung, off atomic.Bool
}

// Pace slows a list down to the speed of the disk, because the list of a large cluster arrives faster than it can be
// written. If the event is an object of a list, Pace waits for room in the queue, unless the disk hangs. Call it after
// Record, without holding a lock.
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
