package watches

import (
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
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
	// `newest` is the highest resourceVersion, which was first seen at `rose`.
	newest uint64
	rose   time.Time
	// `recent` is what `newest` was at `noted`. `old` is what it was at least maxIgnoredLag before that.
	recent, old uint64
	noted       time.Time
	// `until` holds, for each watch, the time until which the watch is assumed to lag.
	until [event.NumKinds]time.Time
}

// `note` records the resourceVersion of an object that a watch delivered, and returns it as a number. It returns 0 if the
// version is unknown.
func (g *lags) note(k event.Kind, text string, t time.Time) uint64 {
	if text == "" {
		return 0 // anonymised recordings contain no versions
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	if t.Sub(g.rose) > LagWait {
		g.newest, g.recent, g.old = 0, 0, 0 // after a restore of etcd, versions can be lower than before
	}
	if passed := t.Sub(g.noted); passed >= maxIgnoredLag {
		if g.old = g.recent; passed >= 2*maxIgnoredLag {
			g.old = g.newest
		}
		g.recent, g.noted = g.newest, t
	}
	if version > g.newest {
		g.newest, g.rose = version, t
	}
	if version < g.old {
		g.until[k] = t.Add(lagRemembered)
	}
	return version
}
