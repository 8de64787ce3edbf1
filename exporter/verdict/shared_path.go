package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// endTogether is the maximum time between the ends of silences with a common cause.
const endTogether = 20 * time.Second

// SimultaneousSilences returns the silences that began within one heartbeat interval and have a common cause. It
// returns nil if chance may explain them.
func SimultaneousSilences(f *NodeLoss) []*Silence {
	f.grouped, f.shared = false, nil
	if f.sharedAnswer() != Yes {
		return nil
	}
	return f.largestGroup()
}

// SuccessiveSilences returns the silences of nodes that fell silent one after another. It returns nil if chance may
// explain them.
func SuccessiveSilences(f *NodeLoss) []*Silence {
	if holds, _ := weighSuccessive(f); holds != Yes {
		return nil
	}
	return f.successive.silences
}

// SharedPathAnswer reports whether something that the nodes share delayed their heartbeats.
func SharedPathAnswer(f *NodeLoss) Answer {
	f.grouped, f.shared = false, nil
	return f.sharedAnswer()
}

func sharedPath(f *NodeLoss) (Answer, string) { return f.sharedAnswer(), f.shared.because() }

// sharedAnswer returns the answer of sharedPath without the text, which is expensive to compute.
func (f *NodeLoss) sharedAnswer() Answer {
	if f.shared == nil {
		f.shared = &lazyAnswer{}
		f.shared.holds, f.shared.because = f.weighShared()
	}
	return f.shared.holds
}

func fixedText(text string) func() string { return func() string { return text } }

func (f *NodeLoss) weighShared() (Answer, func() string) {
	if f.countUnseen() > 0 {
		return Unknown, fixedText(unseenText)
	}
	if n := f.countSilences(func(s *Silence) bool { return s.Upgraded }); n > 0 && n == len(f.Silences) {
		return No, fixedText("each of these nodes reported a different kubelet version after the silence")
	}
	holds, because := atOnce(f)
	stopped, _ := f.ControlPlane.stopped(f.began())
	if holds == Unknown && len(stopped) > 0 && len(stopped) < f.ControlPlane.AsOf.APIServers {
		holds = Yes // an API server stopped at the same time
	}
	if upgraded := f.upgradeText(); holds != No && upgraded != "" && len(stopped) == 0 && !f.ControlPlane.readFailed(f.span()) {
		return Unknown, func() string { return because() + "; but " + upgraded }
	}
	if why := f.otherThanPath(); holds == Yes && why != "" && len(stopped) == 0 && !f.ControlPlane.readFailed(f.span()) {
		return Unknown, func() string { return because() + "; but " + why }
	}
	if holds == Yes {
		return holds, func() string { return because() + f.othersText() + f.pathText() }
	}
	if why := f.silenceDoubt(); why != "" {
		return Unknown, fixedText(why)
	}
	if late := f.lateWith(); holds == No && late != nil {
		return Yes, func() string { return f.lateWithText(late) + f.pathText() }
	}
	if why := f.maybeShared(); why != "" {
		return Unknown, fixedText(why)
	}
	if inTurn, why := weighSuccessive(f); inTurn == Yes {
		return inTurn, func() string { return why + f.pathText() }
	}
	return holds, because
}

// atOnce judges whether several nodes fell silent within one heartbeat interval for a common reason.
func atOnce(f *NodeLoss) (Answer, func() string) {
	silent := f.largestGroup()
	if len(silent) < 2 {
		return No, func() string { return fmt.Sprintf("no other node fell silent within %s", phrase.Duration(f.Interval)) }
	}
	holds, why := f.oneCause(silent)
	return holds, func() string {
		text := fmt.Sprintf("%d of %d nodes fell silent within %s", len(silent), f.Nodes, phrase.Duration(max(silent[len(silent)-1].Began.Sub(silent[0].Began), time.Second)))
		if ended, seen, apart := endsOf(silent); ended && seen && apart <= endTogether {
			text += " and came back within " + phrase.Duration(max(apart, time.Second))
		}
		if text += why; holds == Yes {
			text += commonText(silent, f.Nodes)
		}
		return text
	}
}

// oneCause judges whether silences that began together have a common cause. The text is the end of a sentence that
// explains the answer.
func (f *NodeLoss) oneCause(silent []*Silence) (Answer, string) {
	p := f.Rate.GroupProbability(len(silent), f.Nodes, f.Interval)
	ended, endSeen, apart := endsOf(silent)
	if ended && endSeen && apart <= endTogether {
		p *= chance.EndsProbability(len(silent), endTogether)
	}
	switch {
	case !endSeen && len(silent) == 2:
		return Unknown, ", but they may have come back while kubeflap's own watch was broken"
	case !ended && len(silent) == 2 && slices.ContainsFunc(silent, (*Silence).isDeleted):
		return Unknown, ", and a Node was deleted, so this may be chance"
	case !ended && len(silent) == 2:
		return Unknown, ": kubeflap can decide this when the nodes return, or when a third node falls silent"
	case ended && len(silent) == 2 && apart > endTogether:
		return No, fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	case p < chance.SignificanceLevel:
		if alone := f.flapAlone(silent); alone != Yes {
			return alone, ", but each of them also fell silent alone within the hour, so this may be chance"
		}
		return Yes, ": with independent failures, the probability of this is below 1 in 1,000"
	case ended && endSeen && apart > endTogether:
		return No, fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	}
	return Unknown, ": this may be chance"
}

// weighSuccessive judges whether nodes fell silent one after another more often than chance allows.
func weighSuccessive(f *NodeLoss) (Answer, string) {
	if f.successive == nil {
		f.successive = f.findSuccessive()
	}
	return f.successive.holds, f.successive.because
}

func (f *NodeLoss) findSuccessive() *successiveResult {
	if len(f.Recent) < 4 || f.Rate.SuccessionProbability(len(f.Recent), f.Nodes, time.Hour) >= chance.SignificanceLevel {
		return &successiveResult{holds: No} // there are too few silences, even if all of them are counted
	}
	counts := map[string]int{}
	most := 0
	alone := f.independentSilences()
	for _, s := range alone {
		counts[s.Node]++
		most = max(most, counts[s.Node])
	}
	share := float64(len(alone)) / float64(max(len(counts), 1))
	if len(counts) < 4 || float64(most) > 2*share || f.Rate.SuccessionProbability(len(alone), f.Nodes, time.Hour) >= chance.SignificanceLevel {
		return &successiveResult{holds: No}
	}
	return &successiveResult{Yes, fmt.Sprintf("%d nodes fell silent one after another within an hour, %d times in total, which is more often than chance allows", len(counts), len(alone)), alone}
}
