package nodes

import "time"

// maxWindow is for how long a value counts.
const maxWindow = 10 * time.Minute

// window finds the largest value of the last ten minutes. It keeps
// only values that can still become the largest: each is smaller and newer than
// the one before it.
type window struct {
	samples []sample
}

type sample struct {
	at    int64 // Unix nanoseconds
	value time.Duration
}

func (w *window) add(at time.Time, value time.Duration) {
	w.expire(at)
	keep := len(w.samples)
	for keep > 0 && w.samples[keep-1].value <= value {
		keep--
	}
	w.samples = append(w.samples[:keep], sample{at.UnixNano(), value})
}

// max is the largest value of the ten minutes before t; ok says that there is one.
func (w *window) max(t time.Time) (value time.Duration, ok bool) {
	w.expire(t)
	if len(w.samples) == 0 {
		return 0, false
	}
	return w.samples[0].value, true
}

func (w *window) expire(t time.Time) {
	oldest := t.Add(-maxWindow).UnixNano()
	gone := 0
	for gone < len(w.samples) && w.samples[gone].at < oldest {
		gone++
	}
	if gone > 0 {
		w.samples = w.samples[:copy(w.samples, w.samples[gone:])]
	}
}
