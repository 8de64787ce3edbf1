package judge

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// endTogether is the maximum time between the ends of silences with a common cause.
	endTogether = 20 * time.Second
	// manyTimes is the rate per hour above which chance explains that nodes fell silent together.
	manyTimes = 0.05
	// fewest is the minimum size of a group in which some nodes recovered within the grace period. All other groups need
	// only two nodes, because longer silences are rarer.
	fewest = 3
)

func otherKubelets(w *weighing) fact {
	return when(w.own.Upgraded(), "each of these nodes reported a different kubelet version after the silence")
}

func fellTogether(w *weighing) fact { return w.grouped }

// togetherForOtherReason tells whether an upgrade, a common host or a removal of the machines explains that nodes fell
// silent together.
func togetherForOtherReason(w *weighing) fact {
	upgrade, other := w.upgradeText(), w.otherThanPath()
	switch {
	case w.grouped.is == no || w.pathFailed:
	case upgrade != "":
		return fact{yes, w.grouped.how + "; but " + upgrade}
	case w.grouped.is == yes && other != "":
		return fact{yes, w.grouped.how + "; but " + other}
	}
	return fact{is: no}
}

// oneOfSeveral tells whether other nodes fell silent together with a node, and share the cause.
func oneOfSeveral(w *weighing) fact {
	if len(w.group) < 2 {
		return fact{is: no}
	}
	several := "several nodes fell silent together"
	if w.group.Any(wasShort) {
		several = "other nodes were late at the same time"
	}
	switch upgrade := w.upgradeText(); {
	case w.shared.is == yes:
	case upgrade != "":
		several += ": " + upgrade
	case w.otherThanPath() != "":
		several += ", and " + w.otherThanPath()
	default:
		several += ", which may be chance"
	}
	return fact{w.shared.is, several}
}

// oneAfterAnother tells whether nodes fell silent one after another.
func oneAfterAnother(w *weighing) fact {
	all := w.cluster.inTurn()
	if all == nil {
		return fact{is: no}
	}
	nodes, times := len(all.OfEachNode()), ""
	if len(all) > nodes {
		times = fmt.Sprintf(", %d times in total", len(all))
	}
	return fact{yes, fmt.Sprintf("%d nodes fell silent one after another within an hour%s, so coincidence is very unlikely", nodes, times)}
}

func beganWithin(group silence.List) string {
	return phrase.Duration(max(group[len(group)-1].Began.Sub(group[0].Began), time.Second))
}

// isGroupable reports whether the silence is disturbed and kubeflap saw it begin.
func (f *NodeLoss) isGroupable(s *silence.Silence) bool { return !s.BeganBlind && f.isDisturbed(s) }

// isNear reports whether another node's silence, one of the given ones, began within one heartbeat interval of this one.
// The given silences must be sorted by start.
func (f *NodeLoss) isNear(s *silence.Silence, sorted silence.List) bool {
	near := silence.BeganBetween(sorted, s.Began.Add(-f.Interval), s.Began.Add(f.Interval))
	return near.Any(func(x *silence.Silence) bool { return x.Node != s.Node })
}

// wasShort reports whether the silence ended within the grace period.
func wasShort(s *silence.Silence) bool { return s.Short && !s.Ended.IsZero() }

// largestGroup returns the largest group of silences that began within one heartbeat interval of one of them, and to which
// the incident belongs. The group can include silences of other incidents, and late heartbeats. It omits silences whose
// start kubeflap did not see.
func (w *weighing) largestGroup() silence.List {
	group := w.groupOf(w.isGroupable)
	if len(group) < fewest && group.Any(wasShort) {
		group = w.groupOf(func(s *silence.Silence) bool { return !wasShort(s) && w.isGroupable(s) })
	}
	return group
}

// groupOf returns the largest group of the silences that match.
func (w *weighing) groupOf(match func(*silence.Silence) bool) silence.List {
	own := silence.ByBegan(w.own.Filter(match))
	if len(own) == 0 {
		return nil
	}
	all, first, last := slices.Clone(own), own[0].Began.Add(-2*w.Interval), own[len(own)-1].Began.Add(2*w.Interval)
	for _, others := range [...]silence.List{w.cluster.recent, w.cluster.late} {
		all = append(all, silence.BeganBetween(others, first, last).Filter(match)...)
	}
	return silence.LargestGroup(slices.Compact(silence.ByBegan(all)), own, w.Interval)
}

// groupText describes the nodes that fell silent together. w.grouped is the result of oneCause.
func (w *weighing) groupText() string {
	switch {
	case len(w.own) == 0:
		return noSilence
	case len(w.group) < 2:
		return "no other node fell silent within " + phrase.Duration(w.Interval)
	}
	text := phrase.CountOf(len(w.group), w.Nodes, "nodes") + " fell silent within " + beganWithin(w.group)
	mixed := w.group.Any(func(s *silence.Silence) bool { return s.Short })
	if mixed {
		text = "the heartbeats of " + phrase.CountOf(len(w.group), w.Nodes, "nodes") + " became late within " + beganWithin(w.group) + ", some of them for less than the grace period"
	}
	if ended, seen, apart := silence.Ends(w.group); ended && seen && apart <= endTogether {
		text += " and came back within " + phrase.Duration(max(apart, time.Second))
	}
	if text += w.grouped.how; w.grouped.is == yes && !mixed { // the labels of late nodes are unknown
		all := slices.Concat(w.group, w.own.Filter(w.isGroupable)).OfEachNode()
		if others := len(all) - len(w.group); others > 0 {
			text += fmt.Sprintf("; %d others fell silent earlier or later", others)
		}
		text += commonText(all, w.Nodes)
	}
	return text
}

// oneCause judges whether silences that began together have a common cause. The text is the end of a sentence that
// explains the answer. pathFailed tells whether there is any evidence against the path to etcd.
func (f *NodeLoss) oneCause(group silence.List, pathFailed bool) (verdict.Answer, string) {
	n := len(group)
	if n < 2 {
		return no, ""
	}
	p, weak := f.chanceOf(group)
	ended, endSeen, apart := silence.Ends(group)
	if ended && endSeen && apart <= endTogether {
		p *= math.Pow(f.cluster.rates().endsWithin(endTogether, group[0].Lasted(f.Now)), float64(n-1))
	}
	switch {
	case !endSeen && n == 2:
		return unknown, ", but they may have come back while kubeflap's own watch was broken"
	case !ended && n == 2 && group.Any((*silence.Silence).IsDeleted):
		return unknown, ", and a Node was deleted, so this may be chance"
	case !ended && n == 2:
		return unknown, ": kubeflap can decide this when the nodes return, or when a third node falls silent"
	case p < significance && (n > 2 || apart <= endTogether):
		return yes, ", so coincidence is very unlikely"
	case ended && endSeen && apart > endTogether:
		return no, fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	case weak > 0 && p >= manyTimes && !pathFailed:
		return no, flapAlone
	case weak > 0:
		return unknown, flapAlone
	}
	return unknown, ", which may be chance"
}

const flapAlone = ", but some of them also fell silent alone, so this may be chance"

// cluster holds what is the same for all incidents, because finding it takes much longer than weighing an incident.
type cluster struct {
	// The recent silences in which nodes were lost, and the late heartbeats, both sorted by start.
	recent, late silence.List
	// The silences of the last day that are no evidence for a shared path. Their nodes are no witnesses either.
	noWitness silence.List
	// How often each node falls silent by itself.
	rates func() *ownRates
	// The silences of nodes that fell silent one after another. They are nil if chance may explain them.
	inTurn func() silence.List
}

// prepared returns f with what is the same for all incidents.
func (f *NodeLoss) prepared() *NodeLoss {
	if f.cluster == nil {
		f.cluster = &cluster{
			recent: silence.ByBegan(f.Recent), late: silence.ByBegan(f.Late),
			noWitness: f.Day.Filter(func(s *silence.Silence) bool { return !s.Short && (s.Explained() || s.Found.Is) }),
			rates:     sync.OnceValue(f.measureRates), inTurn: sync.OnceValue(f.inTurn),
		}
	}
	return f
}

func (f *NodeLoss) inLastHour(s *silence.Silence) bool { return s.Began.After(f.Now.Add(-time.Hour)) }

// inTurn returns the silences of nodes that fell silent one after another. The result is nil if chance may explain them.
func (f *NodeLoss) inTurn() silence.List {
	isChance := func(all silence.List) bool {
		// The verdicts about silences of the last hour may still change.
		before := f.Day.Count(func(s *silence.Silence) bool { return !s.Short && !s.Found.Is && !s.Explained() && !f.inLastHour(s) })
		return len(all) < 4 || poissonTail(len(all), f.perHour(before)) >= significance
	}
	if isChance(f.cluster.recent) {
		return nil
	}
	alone, counts, most := f.independent(), map[string]int{}, 0
	for _, s := range alone {
		counts[s.Node]++
		most = max(most, counts[s.Node])
	}
	if len(counts) < 4 || most*len(counts) > 2*len(alone) || isChance(alone) || areFewWeak(len(counts), len(alone), f.Nodes) {
		return nil
	}
	return alone
}

// areFewWeak reports whether silences may be those of some weak nodes, each silent again and again, instead of those of any
// node. It assumes up to twice as many weak nodes as were silent so far: then more silences would have been of the same
// nodes. A quarter of all nodes are not few.
func areFewWeak(silent, silences, nodes int) bool {
	weak, all := 2*float64(silent), float64(silences)
	again := all - weak*(1-math.Exp(-all/weak)) // how many silences are expected to be of a node that was silent before
	return 4*silent < nodes && 1-poissonTail(silences-silent+1, again) > 0.05
}

// independent returns the silences of the last hour that have no common cause. It omits silences that began together,
// unless their causes certainly differ. It also omits silences that follow a kubelet upgrade, and silences of reclaimed
// machines, because upgrades and replacements proceed node by node.
func (f *NodeLoss) independent() (alone silence.List) {
	rest := f.cluster.recent.Filter(func(s *silence.Silence) bool {
		return f.inLastHour(s) && f.isDisturbed(s) && !s.IsGone() && !f.Upgrades.Before(s)
	})
	for len(rest) > 0 {
		end := 1 // a gap of more than one interval separates groups
		for end < len(rest) && rest[end].Began.Sub(rest[end-1].Began) <= f.Interval {
			end++
		}
		alone = append(alone, f.independentOf(rest[:end])...)
		rest = rest[end:]
	}
	return alone
}

// independentOf returns the silences without a common cause of a part of those of the cluster.
func (f *NodeLoss) independentOf(rest silence.List) (alone silence.List) {
	for len(rest) > 1 {
		group := silence.LargestGroup(rest, rest, f.Interval)
		if holds, _ := f.oneCause(group, false); holds == no {
			alone = append(alone, group...)
		}
		if len(group) == len(rest) {
			return alone
		}
		rest = rest.Filter(func(s *silence.Silence) bool {
			isFirst := len(group) > 0 && s == group[0]
			if isFirst {
				group = group[1:] // both are in the same order
			}
			return !isFirst
		})
	}
	return append(alone, rest...)
}
