package flightrecorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNothing is returned if a directory contains no events of the requested period.
var ErrNothing = errors.New("nothing was recorded in this period")

// Read returns the recorded events of a period. They begin with lists that contain the state of all objects at the
// start of the period. If the recording starts later, the lists contain the state at the start of the recording. Read
// reports the watches as down while no recorder was running. After a damaged or deleted file, it reports them as down
// until the next list. anonymised is true if all names are pseudonyms. If the names change within the period, Read
// returns a RenamedError.
//
// Read can be called while a Recorder writes into the directory and deletes old files.
func Read(ctx context.Context, dir string, from, to time.Time) (recorded eventSeq, anonymised bool, err error) {
	all, err := filesOf(dir)
	if err != nil {
		return nil, false, err
	}
	if len(all) == 0 {
		return nil, false, fmt.Errorf("%w: the directory has no recordings", ErrNothing)
	}
	for parts := partsForPeriod(all, from, to); len(parts) > 0; parts = partsForPeriod(all, from, to) {
		recorded, anonymised, err = readParts(ctx, parts, from, to)
		if !errors.Is(err, ErrNothing) {
			return recorded, anonymised, err
		}
		// If the clock was set back, an older generation may cover the requested period.
		all = all[:slices.IndexFunc(all, func(f file) bool { return f.path == parts[0].path })]
		if !slices.ContainsFunc(generationsOf(all), func(g generation) bool { return g.covers(from) }) {
			break
		}
	}
	return nil, false, fmt.Errorf("%w: from %s to %s", ErrNothing, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
}

func readParts(ctx context.Context, parts []part, from, to time.Time) (recorded eventSeq, anonymised bool, err error) {
	named, err := namesIn(parts)
	if err != nil {
		return nil, false, err
	}
	r := newReading(ctx, parts)
	before, err := summarise(r, from)
	if err == nil && before.last == 0 && before.next.IsZero() {
		err = r.failure()
	}
	switch {
	case err != nil:
		return nil, false, err
	case before.next.IsZero() || before.next.After(to):
		return nil, false, ErrNothing
	}
	return before.replay(r, from, to), named.anonymised, nil
}
