package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	notWatched = "kubeflap was not watching yet"
	// caughtUp is the longest time that a restored watch needs to deliver missed events. It equals catchUp in
	// exporter/track/watches.
	caughtUp = 2 * time.Second
)

func isUnseen(s *silence.Silence) bool { return s.Unseen }

func leasesUnseen(w *weighing) fact {
	return when(w.own.Any(isUnseen), "kubeflap sees no Leases, only status reports that may be 5 min apart, so it is unknown what happened in between")
}

func silencesUnproven(w *weighing) fact {
	doubt := w.silenceDoubt()
	return when(doubt != "", doubt)
}

// silenceDoubt explains what is uncertain about the silences, such as their start times. The text is empty if nothing
// is uncertain.
func (w *weighing) silenceDoubt() string {
	inDoubt := func(s *silence.Silence) bool { return s.Found.InDoubt }
	switch blind := w.own.All(func(s *silence.Silence) bool { return s.Blind || s.Found.InDoubt }); {
	case blind && w.own.Any(inDoubt):
		return "the last heartbeat is too recent to explain the status Unknown: the node had returned, the node controller was wrong, or the clocks differ; " + notWatched
	case blind:
		return "kubeflap's own watch was broken at that time, so the missing heartbeats prove nothing"
	case w.own.Any(w.beganBlindWith):
		return "several nodes fell silent while kubeflap's own watch was broken, so it is unknown whether they fell silent together"
	}
	return w.announcementDoubt()
}

// beganBlindWith reports whether the silence and one of another node began during the same break of kubeflap's own
// watch. It is then unknown whether they began together.
func (f *NodeLoss) beganBlindWith(s *silence.Silence) bool {
	return s.BeganBlind && f.findOther(s, func(x *silence.Silence) bool { return x.BeganBlind && x.Began.Sub(s.Began).Abs() <= f.Interval }) != ""
}

// findOther returns the name of another node with a recent silence that matches, or an empty string.
func (f *NodeLoss) findOther(s *silence.Silence, match func(*silence.Silence) bool) string {
	for _, x := range slices.Backward(f.Recent) {
		if x.Node != s.Node && match(x) {
			return x.Node
		}
	}
	return ""
}

// perhapsTogether tells whether other nodes may have fallen silent at the same time, unseen by kubeflap.
func perhapsTogether(w *weighing) fact {
	if w.grouped.is == yes {
		return fact{is: no} // it is certain
	}
	text := w.perhapsText()
	return when(text != "", text)
}

func (w *weighing) perhapsText() string {
	for _, s := range w.own {
		if s.Relisted {
			// The other node was lost and recovered while kubeflap's own watch was broken.
			other := w.findOther(s, func(x *silence.Silence) bool { return x.Blind && x.Ended.Equal(x.Began) && x.Began.After(s.Began) })
			if other != "" {
				return other + " turned Unknown and then Ready again while kubeflap's own watch was broken, so it is unknown whether " + other + " and " + s.Node + " were lost together"
			}
		}
		if n := s.Returned; n > 0 {
			return fmt.Sprintf("%s turned Ready after %s fell silent, but it is unknown whether all these nodes were lost together, because "+notWatched,
				phrase.Count(n, "other node", "other nodes"), s.Node)
		}
	}
	return ""
}

// others returns the number of nodes that are not part of the incident.
func (w *weighing) others() int { return w.Nodes - len(w.own.OfEachNode()) }

func othersUnseen(w *weighing) fact {
	return when(w.others() > 0 && w.own.Any(w.mayHideOthers),
		"kubeflap's own watch was broken. When the watch has caught up, kubeflap will know whether other nodes fell silent, too")
}

// othersInTime tells whether nodes that are not part of the incident sent heartbeats on time.
func othersInTime(w *weighing) fact {
	others := w.others()
	switch {
	case others <= 0 && w.pathFailed:
		return fact{unknown, "there is no other node to compare with, and the API server could not read or write Leases at that time"}
	case others <= 0 && slices.ContainsFunc(w.reads, func(x transition.LeasesRead) bool { return x.Reason != "" }):
		return fact{unknown, "there is no other node to compare with, and kubeflap could not read Leases at that time"}
	case others <= 0:
		return fact{yes, "there is no other node to compare with, and no evidence against the API server"}
	case others > 1 && w.own.All(func(s *silence.Silence) bool { return silentAt(w, s.Began.Add(w.Interval)) >= others }):
		return fact{unknown, "no other node sent heartbeats on time then"}
	}
	return fact{yes, w.othersText(others)}
}

// silentAt returns the number of other nodes that were silent at a time.
func silentAt(w *weighing, t time.Time) int {
	return othersWith(w, func(s *silence.Silence) bool { return s.Began.Before(t) && (s.IsOngoing() || s.Ended.After(t)) })
}

// mayHideOthers reports whether a break of the Lease watch may hide silences that began together with this one. The
// result is false once the watch has delivered the missed events.
func (f *NodeLoss) mayHideOthers(s *silence.Silence) bool {
	b := f.Break
	caught := !b.To.IsZero() && !f.Now.Before(b.To.Add(caughtUp))
	return !b.From.IsZero() && !caught && b.From.Before(s.Began.Add(f.Interval)) && (b.To.IsZero() || s.Began.Before(b.To))
}

// othersText describes the heartbeats of the given number of nodes that are not part of the incident. For the time before
// kubeflap started, it is known only when the Ready conditions of these nodes last changed.
func (w *weighing) othersText(others int) string {
	text := "the other " + phrase.Count(others, "node", "nodes")
	if others == 1 {
		text = "the other node"
	}
	wasFound := func(s *silence.Silence) bool { return s.Found.Is }
	found, late := w.own.Any(wasFound), w.othersLate()
	if found {
		late = othersWith(w, wasFound)
	}
	if late > 0 {
		text = fmt.Sprintf("%d of ", others-late) + text
	}
	switch {
	case late >= others:
		return "chance explains that other nodes were late in the meantime"
	case found:
		return text + " sent heartbeats when kubeflap started, and no other node had turned Ready soon after the silence began"
	case others-late == 1:
		return text + " sent its heartbeats on time"
	}
	return text + " sent their heartbeats on time"
}

// othersLate returns the number of other nodes that were late or lost during the silences.
func (w *weighing) othersLate() int {
	return othersWith(w, func(s *silence.Silence) bool {
		return !s.Began.After(w.to) && (s.IsOngoing() || s.Ended.After(w.from))
	})
}

// othersWith returns the number of other nodes with a silence that matches.
func othersWith(w *weighing, match func(*silence.Silence) bool) int {
	names := map[string]bool{}
	for _, some := range [...]silence.List{w.Recent, w.Late, w.cluster.noWitness} {
		for _, s := range some {
			if match(s) && s.Lasted(w.Now) > w.Interval {
				names[s.Node] = true
			}
		}
	}
	for _, s := range w.own {
		delete(names, s.Node)
	}
	return len(names)
}
