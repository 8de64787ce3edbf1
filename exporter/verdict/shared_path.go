package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// endTogether is how close the ends of silences with one cause are.
const endTogether = 20 * time.Second

// Together are the silences that have one cause: they began within an interval, and chance is excluded.
func Together(f *NodeLoss) []Silence {
	f.grouped, f.shared = false, nil
	if holds, _ := sharedPath(f); holds != Yes {
		return nil
	}
	return f.together()
}

// InTurn are the silences of node after node; nil if there are no more than chance allows.
func InTurn(f *NodeLoss) []Silence {
	if holds, _ := inTurn(f); holds != Yes {
		return nil
	}
	return f.alone()
}

// Shared reports whether something that nodes share delayed the heartbeats.
func Shared(f *NodeLoss) Answer {
	f.grouped, f.shared = false, nil
	holds, _ := sharedPath(f)
	return holds
}

func sharedPath(f *NodeLoss) (Answer, string) {
	if f.shared == nil {
		f.shared = &considered{}
		f.shared.holds, f.shared.because = f.weighShared()
	}
	return f.shared.holds, f.shared.because
}

func (f *NodeLoss) weighShared() (Answer, string) {
	if f.unseen() > 0 {
		return Unknown, unseenText
	}
	if n := f.each(func(s *Silence) bool { return s.Upgraded }); n > 0 && n == len(f.Silences) {
		return No, "each of these nodes reported another version of its kubelet after the silence"
	}
	holds, because := atOnce(f)
	stopped, _ := f.stopped()
	if holds == Unknown && len(stopped) > 0 && len(stopped) < f.ControlPlane.AsOf.APIServers {
		holds = Yes // an API server stopped when they fell silent
	}
	if holds == Yes {
		if upgraded := f.upgradedTogether(f.together()); upgraded != "" && len(stopped) == 0 && !f.readFailed() {
			return Unknown, because + "; but " + upgraded
		}
		return holds, because + f.othersText() + f.pathText()
	}
	if n := f.blind(); n > 0 && n == len(f.Silences) {
		return Unknown, blindText
	}
	if f.beganBlind() {
		return Unknown, beganBlindText
	}
	if inTurn, why := inTurn(f); inTurn == Yes {
		return inTurn, why + f.pathText()
	}
	return holds, because
}

// atOnce: several nodes fall silent within one interval.
func atOnce(f *NodeLoss) (Answer, string) { return f.oneCause(f.together()) }

// oneCause reports whether silences that began together have one cause.
func (f *NodeLoss) oneCause(silent []Silence) (Answer, string) {
	if len(silent) < 2 {
		return No, fmt.Sprintf("no other node fell silent within %s", phrase.Duration(f.Interval))
	}
	chance := f.Rate.chanceTogether(len(silent), f.Nodes, f.Interval)
	ended, apart := endsOf(silent)
	text := fmt.Sprintf("%d of %d nodes fell silent within %s", len(silent), f.Nodes, phrase.Duration(max(silent[len(silent)-1].Began.Sub(silent[0].Began), time.Second)))
	endSeen := !slices.ContainsFunc(silent, func(s Silence) bool { return s.EndedBlind })
	if ended && endSeen && apart <= endTogether {
		chance *= chanceOfEnd(len(silent), endTogether)
		text += " and came back within " + phrase.Duration(max(apart, time.Second))
	}
	switch {
	case !endSeen && len(silent) == 2:
		return Unknown, text + ", but kubeflap's own watch was broken when they may have come back"
	case !ended && len(silent) == 2 && slices.ContainsFunc(silent, func(s Silence) bool { return s.isDeleted() }):
		return Unknown, text + ", and a Node was deleted: that can be chance"
	case !ended && len(silent) == 2:
		return Unknown, text + ": their return, or a third node, will tell"
	case ended && len(silent) == 2 && apart > endTogether:
		return No, text + fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	case chance < acceptedChance:
		return Yes, text + ": independent failures look like this less than once in 1,000 times" + commonText(silent, f.Nodes)
	case ended && endSeen && apart > endTogether:
		return No, text + fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	}
	return Unknown, text + ": that can be chance"
}

// inTurn: node after node falls silent, more often than chance allows.
func inTurn(f *NodeLoss) (Answer, string) {
	if f.turn == nil {
		f.turn = &considered{}
		f.turn.holds, f.turn.because = f.weighTurn()
	}
	return f.turn.holds, f.turn.because
}

func (f *NodeLoss) weighTurn() (Answer, string) {
	if len(f.Others) < 4 || f.Rate.chanceInTurn(len(f.Others), f.Nodes, time.Hour) >= acceptedChance {
		return No, "" // even if no other hypothesis explained any of them
	}
	counts := map[string]int{}
	most := 0
	total := 0
	for _, s := range f.alone() {
		total++
		counts[s.Node]++
		most = max(most, counts[s.Node])
	}
	share := float64(total) / float64(max(len(counts), 1))
	if len(counts) < 4 || float64(most) > 2*share || f.Rate.chanceInTurn(total, f.Nodes, time.Hour) >= acceptedChance {
		return No, ""
	}
	return Yes, fmt.Sprintf("%d nodes fell silent one after the other within an hour, %d times in all: more often than chance allows", len(counts), total)
}
