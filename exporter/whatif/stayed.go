package whatif

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// kept is a period in which a node was certainly Ready. Its end is zero while the period lasts.
type kept struct {
	interval
	// changed is the lastTransitionTime of the Ready condition.
	changed time.Time
}

// readyKept updates the periods in which a node was certainly Ready. The kubelet and the node controller set
// lastTransitionTime only if the status changes (tryUpdateNodeHealth, and MergeKubeletStatus of pkg/kubelet).
// Therefore, if lastTransitionTime is the same before and after a gap in the watch of Nodes, the node stayed Ready
// during the gap.
func (s *Study) readyKept(e event.Event, name string, ready *event.Condition) {
	all := s.kept[name]
	last := len(all) - 1
	going := last >= 0 && all[last].to.IsZero()
	isReady := e.Type != event.Deleted && ready != nil && ready.Status == event.StatusTrue
	if going && isReady && all[last].changed.Equal(ready.LastTransitionTime) {
		seen := e.Type == event.Modified && s.gaps.nodesSeenUntil(e.Seen).Equal(e.Seen)
		if seen || !ready.LastTransitionTime.IsZero() {
			return
		}
	}
	if going {
		all[last].to = s.gaps.nodesSeenUntil(e.Seen)
	}
	if isReady {
		s.kept[name] = append(all, kept{interval{from: e.Seen}, ready.LastTransitionTime})
	}
}

// stayedReady reports whether a node was certainly Ready for the whole silence. All periods in s.kept must have ended.
func (s *Study) stayedReady(x *silence) bool {
	return x.marked.IsZero() && slices.ContainsFunc(s.kept[x.node], func(k kept) bool {
		return !k.from.After(x.from) && !k.to.Before(x.to)
	})
}

// hasUnknownLength reports whether the node certainly stayed Ready during a silence of unknown length.
func (x *silence) hasUnknownLength() bool { return x.stayed && x.shortest < x.longest }

// survives reports whether the node would certainly have stayed Ready with the other settings. The result is true only
// if hasUnknownLength is true and the controller would not have acted earlier with the other settings.
func (x *silence) survives(recorded, other Settings) bool {
	if !x.hasUnknownLength() || recorded.GracePeriod == 0 {
		return false
	}
	if recorded.MonitorPeriod == other.MonitorPeriod {
		return recorded.GracePeriod <= other.GracePeriod
	}
	_, latest := recorded.delay()
	earliest, _ := other.delay()
	return latest < earliest && !x.newLeader
}
