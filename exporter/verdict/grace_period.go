package verdict

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// gracePeriod judges whether the grace period is too short for undisturbed heartbeats.
func gracePeriod(f *NodeLoss) (Answer, string) {
	switch {
	case f.GracePeriod == 0:
		return Unknown, "the grace period is unknown"
	case f.GracePeriod > f.Interval:
		return No, fmt.Sprintf("the grace period of %s is longer than an undisturbed heartbeat interval (%s)", phrase.Duration(f.GracePeriod), phrase.Duration(f.Interval))
	}
	if f.countUnseen() > 0 {
		return Unknown, unseenText
	}
	late := f.countSilences(func(s *Silence) bool { return f.lasted(s) > 2*f.Interval })
	if late > 0 {
		return No, fmt.Sprintf("%s lost more than one heartbeat", phrase.Count(late, "node", "nodes"))
	}
	return Yes, fmt.Sprintf("at most one heartbeat was lost, and the grace period of %s is not longer than the heartbeat interval", phrase.Duration(f.GracePeriod))
}
