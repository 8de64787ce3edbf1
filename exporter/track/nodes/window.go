package nodes

import "time"

// remembered is the age after which a value in a window no longer counts.
const remembered = 10 * time.Minute

// window provides the maximum of a value over the last ten minutes. It keeps only the values that can still become the maximum.
// Therefore, each value is smaller and newer than the previous one.
type window struct {
	samples []sample
}

type sample struct {
	at    int64 // in Unix nanoseconds
	value time.Duration
}

// add adds a value.
func (w *window) add(at time.Time, value time.Duration) {
	w.expire(at)
	keep := len(w.samples)
	for keep > 0 && w.samples[keep-1].value <= value {
		keep--
	}
	w.samples = append(w.samples[:keep], sample{at.UnixNano(), value})
}

// longest returns the maximum over the ten minutes before t. ok is false if there is no value.
func (w *window) longest(t time.Time) (value time.Duration, ok bool) {
	w.expire(t)
	if len(w.samples) == 0 {
		return 0, false
	}
	return w.samples[0].value, true
}

func (w *window) expire(t time.Time) {
	oldest := t.Add(-remembered).UnixNano()
	gone := 0
	for gone < len(w.samples) && w.samples[gone].at < oldest {
		gone++
	}
	if gone > 0 {
		w.samples = w.samples[:copy(w.samples, w.samples[gone:])]
	}
}
