package flightrecorder

import (
	"fmt"
	"slices"
	"time"
)

// Span returns the times of the first and the last event in a directory.
func Span(dir string) (begin, end time.Time, err error) {
	all, err := filesOf(dir)
	if err != nil {
		return begin, end, err
	}
	all = all[baseBefore(all, begin):]
	for _, f := range slices.Backward(all) {
		if f.role == roleState && !f.begins.Equal(all[0].begins) {
			continue
		}
		for ev, err := range eventsIn(f.path) {
			if err != nil {
				return begin, end, err
			}
			end = ev.Seen
		}
		if !end.IsZero() {
			return all[0].begins, end, nil
		}
	}
	return begin, end, fmt.Errorf("%w: the directory has no recordings", ErrNothing)
}
