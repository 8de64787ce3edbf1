package verdict

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// controllerManager judges whether the node controller is at fault. It may have set a node to Unknown despite a recent
// heartbeat, or left silent nodes Ready.
func controllerManager(f *NodeLoss) (Answer, string) {
	inTime := f.countSilences(func(s *Silence) bool { return s.Marked && s.MarkedInTime && s.MarkedAge > 0 })
	ageUnknown := f.countSilences(func(s *Silence) bool { return s.Marked && s.MarkedAge == 0 && s.ClockBack == 0 })
	notMarked := f.countSilences(func(s *Silence) bool { return s.NotMarkedCertain && s.ClockBack == 0 })
	perhaps := f.countSilences(func(s *Silence) bool { return s.NotMarked && !s.NotMarkedCertain && !s.Marked && s.ClockBack == 0 })
	silent := f.countSilences(func(s *Silence) bool {
		return !s.Ended.IsZero() && f.GracePeriod > 0 && f.isDisturbed(s) && f.lasted(s) > f.GracePeriod
	})
	switch {
	case notMarked > 0:
		return Yes, fmt.Sprintf("%s silent for 15s longer than the grace period%s, and still Ready, while the API server answered: the node controller has not reacted",
			phrase.Count(notMarked, "node was", "nodes were"), f.graceText()) + f.leaderText()
	case inTime > 0 && silent > 0:
		// The node controller reacted late, but that does not explain why these nodes fell silent.
		return Unknown, fmt.Sprintf("the node controller set %s to Unknown after the heartbeats had returned, but %s silent for longer than the grace period",
			phrase.Count(inTime, "node", "nodes"), phrase.Count(silent, "node was", "nodes were"))
	case inTime > 0:
		return Yes, fmt.Sprintf("the node controller set %s to Unknown although the newest heartbeat was younger than the grace period", phrase.Count(inTime, "node", "nodes")) + f.leaderText()
	case perhaps > 0:
		return Unknown, fmt.Sprintf("%s still Ready after the grace period%s: the node controller has not reacted, or a new leader gives each node a fresh grace period, "+
			"or the cluster has a longer grace period", phrase.Count(perhaps, "silent node is", "silent nodes are"), f.graceText())
	case f.countUnseen() > 0:
		return Unknown, unseenText
	case ageUnknown > 0:
		return Unknown, "it is unknown how old the newest heartbeat was when the node turned Unknown" + f.leaderText()
	}
	return No, "no node turned Unknown while its heartbeats were on time"
}

func (f *NodeLoss) graceText() string {
	if f.GracePeriod == 0 {
		return ""
	}
	return " of " + phrase.Duration(f.GracePeriod)
}
