package verdict

import (
	"fmt"
)

func planned(f *NodeLoss) (Answer, string) {
	n := f.countSilences(func(s *Silence) bool { return s.Announced != "" })
	switch why := f.announcementDoubt(); {
	case why != "":
		return Unknown, why
	case n == 0:
		return No, "no taint, deletion, condition or cordon announced the departure of " + nodesText(f.Silences)
	case n < len(f.Silences):
		return No, fmt.Sprintf("a taint, deletion, condition or cordon announced only %d of %d departures", n, len(f.Silences))
	}
	return Yes, fmt.Sprintf("the departure of %s was announced by %s %s", nodesText(f.Silences), f.Silences[0].Announced, f.announcedWhen())
}

// announcedWhen describes the time of the announcements. An announcement counts if it came before the first missing
// heartbeat was due. It can therefore be later than the last heartbeat.
func (f *NodeLoss) announcedWhen() string {
	after := f.countSilences(func(s *Silence) bool { return s.AnnouncedAfter })
	switch {
	case f.countUnseen() > 0:
		return "more than a grace period before Ready turned Unknown"
	case after == 0:
		return "before the silence"
	case after < len(f.Silences):
		return "before the next heartbeat was due"
	}
	return "after the last heartbeat, and before the next one was due"
}
