package flightrecorder

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Span returns the start of the first recording in a directory, and the time of the last recorded event.
func Span(dir string) (begin, end time.Time, err error) {
	all, err := filesOf(dir)
	if err != nil {
		return begin, end, err
	}
	var damage error
	for _, f := range slices.Backward(all) {
		for ev, err := range eventsIn(f.path) {
			if err != nil {
				damage = cmp.Or(damage, err)
				break
			}
			end = ev.Seen
		}
		if !end.IsZero() {
			return oldest(all), end, nil
		}
	}
	if damage != nil {
		return begin, end, damage
	}
	return begin, end, fmt.Errorf("%w: the directory has no recordings", ErrNothing)
}

// oldest returns the start of the earliest base.
func oldest(all []file) (begin time.Time) {
	for _, f := range all {
		if f.isBase() && (begin.IsZero() || f.begins.Before(begin)) {
			begin = f.begins
		}
	}
	return begin
}
