package flightrecorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// prune deletes the oldest segments until all together have at most size bytes, and none is older than age. It never
// deletes the newest segment.
func prune(all []Segment, size int64, age time.Duration) (kept []Segment, err error) {
	for len(all) > 1 && (sizeOf(all) > size || areApart(all, age)) {
		if err := os.Remove(all[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, fmt.Errorf("delete an old recording: %w", err)
		}
		all = all[1:]
	}
	return all, nil
}
