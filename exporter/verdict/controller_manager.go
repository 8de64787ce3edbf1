package verdict

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// controllerManager: the node controller marked a node although it must have seen a recent heartbeat.
func controllerManager(f *NodeLoss) (Answer, string) {
	marked, unknown := 0, 0
	for i := range f.Silences {
		switch s := &f.Silences[i]; {
		case !s.Marked:
		case s.MarkedAge == 0:
			unknown++
		case s.MarkedInTime:
			marked++
		}
	}
	switch {
	case marked > 0:
		return Yes, fmt.Sprintf("the node controller marked %s although the newest heartbeat was younger than the grace period", phrase.Count(marked, "node", "nodes"))
	case unknown > 0:
		return Unknown, "the age of the newest heartbeat at the mark is not known"
	}
	return No, "the node controller marked no node whose heartbeat was in time"
}
