package verdict

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// gracePeriod: kubelets that are on time miss it.
func gracePeriod(f *NodeLoss) (Answer, string) {
	switch {
	case f.GracePeriod == 0:
		return Unknown, "the grace period is not known"
	case f.GracePeriod > f.Interval:
		return No, fmt.Sprintf("the grace period of %s is longer than an undisturbed heartbeat interval (%s)", phrase.Duration(f.GracePeriod), phrase.Duration(f.Interval))
	}
	late := f.each(func(s *Silence) bool { return s.Ended.IsZero() || s.Ended.Sub(s.Began) > f.Interval })
	if late > 0 {
		return No, fmt.Sprintf("%s sent no heartbeat for longer than an undisturbed interval", phrase.Count(late, "node", "nodes"))
	}
	return Yes, fmt.Sprintf("the heartbeats were on time, and the grace period of %s is not longer than their interval", phrase.Duration(f.GracePeriod))
}
