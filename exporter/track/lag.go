package track

import (
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// lagBucket is how exactly it is known when a version was first seen; lagBuckets cover lagWait.
	lagBucket  = 50 * time.Millisecond
	lagBuckets = int(lagWait / lagBucket)
	// lagNoticed is from when on a watch is behind. Connections are read in batches, so a few hundredths of a second are normal.
	lagNoticed = 300 * time.Millisecond
	// lagRemembered is for how long a watch that was behind is taken to be.
	lagRemembered = 5 * time.Minute
)

// lags are which watches are behind the others. The API server numbers all writes in the order in which etcd took them, so a watch that shows
// a write after another watch has shown a later one is behind that. The API does not promise that versions of different resources can be
// compared: where they cannot, a loss waits longer for its evidence than it must, and that is all.
type lags struct {
	// seen are the highest versions, and when they were first seen.
	seen []seenVersion
	// until is for how long each watch is taken to be behind.
	until [event.NumKinds]time.Time
}

type seenVersion struct {
	version uint64
	at      time.Time
}

// note takes in that a watch showed a write.
func (g *lags) note(k event.Kind, text string, t time.Time) {
	if text == "" {
		return // recordings may lack it
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return
	}
	last := len(g.seen) - 1
	if last >= 0 && t.Sub(g.seen[last].at) > lagWait {
		g.seen, last = g.seen[:0], -1 // and versions may have gone back, as when etcd was restored
	}
	switch {
	case last < 0 || version > g.seen[last].version && t.Sub(g.seen[last].at) >= lagBucket:
		if len(g.seen) == lagBuckets {
			g.seen = g.seen[:copy(g.seen, g.seen[lagBuckets/2:])]
		}
		g.seen = append(g.seen, seenVersion{version, t})
	case version > g.seen[last].version:
		g.seen[last].version = version
	case version < g.seen[last].version:
		later, _ := slices.BinarySearchFunc(g.seen, version+1, func(x seenVersion, v uint64) int {
			if x.version < v {
				return -1
			}
			return 1
		})
		if t.Sub(g.seen[later].at) > lagNoticed {
			g.until[k] = t.Add(lagRemembered)
		}
	}
}

// behind reports whether the watch of a resource is known to be.
func (g *lags) behind(k event.Kind, t time.Time) bool { return t.Before(g.until[k]) }
