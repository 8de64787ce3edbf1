package watches

import (
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// lagBucket is the precision of the times in lags.seen. lagBuckets is the number of buckets in LagWait.
	lagBucket  = 50 * time.Millisecond
	lagBuckets = int(LagWait / lagBucket)
	// maxIgnoredLag is the longest lag that is ignored. Connections are read in batches, so a lag of a few hundredths
	// of a second is normal.
	maxIgnoredLag = 300 * time.Millisecond
	// lagRemembered is how long a watch is assumed to lag after kubeflap has noticed a lag.
	lagRemembered = 5 * time.Minute
)

// `lags` detects watches that lag behind other watches. The API server numbers all writes in the order in which etcd
// accepted them. So a watch lags if it delivers a write after another watch has delivered a later write.
//
// The API does not guarantee that the resourceVersions of different resources are comparable. If they are not
// comparable, kubeflap can wait longer than necessary for the cause of a lost address.
type lags struct {
	// `seen` holds resourceVersions in increasing order, and the time at which kubeflap first saw each of them.
	seen []seenVersion
	// `until` holds, for each watch, the time until which the watch is assumed to lag.
	until [event.NumKinds]time.Time
}

type seenVersion struct {
	version uint64
	at      time.Time
}

func newLags() lags { return lags{seen: make([]seenVersion, 0, lagBuckets)} }

// `note` records the resourceVersion of an object that a watch delivered, and returns it as a number. It returns 0 if the
// version is unknown.
func (g *lags) note(k event.Kind, text string, t time.Time) (version uint64) {
	if text == "" {
		return 0 // anonymised recordings contain no versions
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	last := len(g.seen) - 1
	if last >= 0 && t.Sub(g.seen[last].at) > LagWait {
		g.seen, last = g.seen[:0], -1 // after a restore of etcd, versions can be lower than before
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
		if t.Sub(g.seen[later].at) > maxIgnoredLag {
			g.until[k] = t.Add(lagRemembered)
		}
	}
	return version
}
