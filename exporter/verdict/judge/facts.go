package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// NodeLoss holds what kubeflap has seen of a node incident and of the cluster around it. Except for Silences, it must
// not change after the first question about it.
type NodeLoss struct {
	// Silences holds the incident's silences. Recent holds the cluster's unexplained silences that began in the last hour
	// or are ongoing, including those of the incident. Both are sorted by Began.
	Silences, Recent silence.List
	// Late holds the cluster's unexplained late heartbeats of the last hour: silences of more than half the grace period,
	// but at most the grace period so far.
	Late silence.List
	// Day holds all of the cluster's silences of the last day, including those before late heartbeats.
	Day silence.List
	// Now is the time of the decision.
	Now time.Time
	// Nodes is the number of nodes in the cluster.
	Nodes int
	// GracePeriod is 0 if unknown. Interval is the longest undisturbed heartbeat interval of any node.
	GracePeriod, Interval time.Duration
	// ControlPlane holds the facts from control-plane Leases and from direct reads of Leases.
	ControlPlane ControlPlane
	// Break is the newest break of kubeflap's own Lease watch.
	Break Break
	// Upgrades holds the recent upgrades of kubelets.
	Upgrades silence.Upgrades
	// Observed is how long kubeflap has observed the cluster, at most a day.
	Observed time.Duration

	cluster *cluster
}

// Break is a period in which kubeflap's own Lease watch was broken. From is zero if there was no break. To is zero if
// the break is ongoing.
type Break struct{ From, To time.Time }

// Begin records that the watch broke. It has no effect if the watch is already broken.
func (b *Break) Begin(t time.Time) {
	if b.From.IsZero() || !b.To.IsZero() {
		*b = Break{From: t}
	}
}

// fact is the answer to one question about an incident, and how it is known.
type fact struct {
	is  verdict.Answer
	how string
}

// when returns a fact that is either Yes or No. The text is only used if the fact is Yes.
func when(is bool, how string) fact {
	if is {
		return fact{yes, how}
	}
	return fact{is: no}
}

// weighing holds an incident, and what several facts about it need.
type weighing struct {
	*NodeLoss
	own silence.List
	// The silences last from the first to the last of these times.
	from, to time.Time
	// The API servers that stopped renewing their Leases around the first silence, the direct reads of Leases during the
	// silences, whether the API server failed to read them, and whether there is any evidence against the path to etcd.
	stopped                []stop
	reads                  []transition.LeasesRead
	readFailed, pathFailed bool
	// The largest group of silences that began together, and whether it has a common cause.
	group   silence.List
	grouped fact
	// The answer to the hypothesis SharedPath.
	shared fact
}

// isDisturbed reports whether something delayed the node's heartbeats. The silence must be proven, and longer than an
// undisturbed heartbeat interval. A shorter silence is normal, even if it exceeds a short grace period. The result is
// false for kubelet upgrades and clock steps.
func (f *NodeLoss) isDisturbed(s *silence.Silence) bool {
	return !s.Unseen && !s.Blind && s.Perhaps == "" && !s.Found.InDoubt && !s.Upgraded && s.ClockBack == 0 && s.Lasted(f.Now) > f.Interval
}

// The facts that come from the nodes of the incident.

func upgraded(w *weighing) fact {
	return when(w.own.Upgraded(), "the kubelet of "+w.own.Nodes()+" was upgraded: it reported a different version after the silence")
}

func clockSetBack(w *weighing) fact {
	most := time.Duration(0)
	for _, s := range w.own {
		most = max(most, s.ClockBack)
	}
	return when(w.own.ClocksSetBack(), "the clock of "+w.own.Nodes()+
		" was set back by "+phrase.Duration(most)+". The node controller ignores heartbeats until their timestamps exceed the last accepted timestamp")
}

func neverSilent(w *weighing) fact {
	return when(len(w.own) == 0, "the kubelet reported the node as not ready, or restarted")
}

func machineGone(w *weighing) fact {
	return when(w.own.Any((*silence.Silence).IsGone), "the machine is gone: it was reclaimed, or it failed and was replaced")
}

func neverLate(w *weighing) fact { return when(!w.own.Any(w.isDisturbed), "no heartbeat was late") }

// noSilence is the reason why hypotheses about silences do not hold of nodes that were not silent.
const noSilence = "no node fell silent"

// announced tells whether all departures were announced. An announcement counts if it came before the first missing
// heartbeat was due. It can therefore be later than the last heartbeat.
func announced(w *weighing) fact {
	n, all := w.own.Count(func(s *silence.Silence) bool { return s.Announced != "" }), len(w.own)
	moment := "before the silence"
	switch doubt := w.announcementDoubt(); {
	case all == 0:
		return fact{no, noSilence}
	case doubt != "":
		return fact{unknown, doubt}
	case n == 0 && w.own[0].Lapsed != "":
		return fact{no, fmt.Sprintf("%s of %s was %s old, and nothing had followed it", w.own[0].Lapsed, w.own[0].Node, phrase.Duration(w.own[0].LapsedAge))}
	case n == 0:
		return fact{no, "no taint, deletion, condition or cordon announced the departure of " + w.own.Nodes()}
	case n < all:
		return fact{no, fmt.Sprintf("a taint, deletion, condition or cordon announced only %d of %d departures", n, all)}
	case w.own.Any(isUnseen):
		moment = "more than a grace period before Ready turned Unknown"
	case w.own.Any(func(s *silence.Silence) bool { return s.AnnouncedAfter }):
		moment = "before the next heartbeat was due"
	}
	return fact{yes, fmt.Sprintf("the departure of %s was announced by %s %s", w.own.Nodes(), w.own[0].Announced, moment)}
}

// announcementDoubt explains why it is uncertain whether all departures were announced. The text is empty if the answer
// is certain.
func (w *weighing) announcementDoubt() string {
	i := slices.IndexFunc(w.own, func(s *silence.Silence) bool { return s.Perhaps != "" })
	if i < 0 || !w.own.All(func(s *silence.Silence) bool { return s.Perhaps != "" || s.Announced != "" }) {
		return ""
	}
	return w.own.Nodes() + " had " + w.own[i].Perhaps + " when kubeflap started, but it is unknown whether that was before the silence"
}

// rebooted tells whether all machines restarted.
func rebooted(w *weighing) fact {
	n, all := w.own.Count(func(s *silence.Silence) bool { return s.Rebooted }), len(w.own)
	switch {
	case all == 0:
		return fact{no, noSilence}
	case n == all:
		return fact{yes, w.own.Nodes() + " reported a new bootID after the silence"}
	case w.own.Any((*silence.Silence).IsDeleted):
		return fact{unknown, "the Node was deleted, so no bootID shows whether the machine restarted"}
	case w.own.Any((*silence.Silence).IsOngoing):
		return fact{unknown, "when the node is back, its bootID will show whether the machine restarted"}
	case n > 0:
		return fact{no, fmt.Sprintf("only %d of %d silences ended with a new bootID", n, all)}
	}
	return fact{no, "the bootID is the same as before"}
}

// graceTooShort tells whether the grace period is not longer than an undisturbed heartbeat interval.
func graceTooShort(w *weighing) fact {
	switch {
	case w.GracePeriod == 0:
		return fact{unknown, "the grace period is unknown"}
	case w.GracePeriod > w.Interval:
		return fact{no, fmt.Sprintf("the grace period of %s is longer than an undisturbed heartbeat interval (%s)", phrase.Duration(w.GracePeriod), phrase.Duration(w.Interval))}
	}
	return fact{is: yes}
}

// oneHeartbeatLost tells whether a grace period that is too short explains the silences.
func oneHeartbeatLost(w *weighing) fact {
	if late := w.own.CountNodes(func(s *silence.Silence) bool { return s.Lasted(w.Now) > 2*w.Interval }); late > 0 {
		return fact{no, phrase.Count(late, "node", "nodes") + " lost more than one heartbeat"}
	}
	return fact{yes, fmt.Sprintf("at most one heartbeat was lost, and the grace period of %s is not longer than the heartbeat interval", phrase.Duration(w.GracePeriod))}
}

// markedInTime tells whether the node controller set nodes to Unknown despite a recent heartbeat.
func markedInTime(w *weighing) fact {
	isEarly := func(s *silence.Silence) bool { return s.Marked && s.MarkedInTime && s.MarkedAge > 0 }
	isLong := func(s *silence.Silence) bool {
		return w.GracePeriod > 0 && w.isDisturbed(s) && s.Lasted(w.Now) > w.GracePeriod
	}
	early := w.own.CountNodes(isEarly)
	// A node that has not come back since may have failed by itself. It says nothing about others that have.
	allGone := !w.own.Any(func(s *silence.Silence) bool { return isEarly(s) && !(s.IsOngoing() && isLong(s)) })
	silent := w.own.CountNodes(func(s *silence.Silence) bool { return isLong(s) && (allGone || !s.IsOngoing()) })
	switch {
	case early == 0:
		return fact{is: no}
	case silent > 0:
		// The node controller reacted late, but that does not explain why these nodes fell silent.
		return fact{unknown, fmt.Sprintf("the node controller set %s to Unknown after the heartbeats had returned, but %s silent for longer than the grace period", phrase.Count(early, "node", "nodes"), phrase.Count(silent, "node was", "nodes were"))}
	}
	return fact{yes, "the node controller set " + phrase.Count(early, "node", "nodes") + " to Unknown although the newest heartbeat was younger than the grace period" + w.leaderText()}
}

// markedLate tells whether all nodes that turned Unknown are known to have been late.
func markedLate(w *weighing) fact {
	if i := slices.IndexFunc(w.own, func(s *silence.Silence) bool {
		return s.Marked && s.Guessed && s.MarkedAge > 0 && s.MarkedAge < w.GracePeriod
	}); i >= 0 {
		return fact{unknown, fmt.Sprintf("%s turned Unknown %s after its newest heartbeat, so the grace period may be shorter than %s, which is only assumed",
			w.own[i].Node, phrase.Duration(w.own[i].MarkedAge), phrase.Duration(w.GracePeriod))}
	}
	if i := slices.IndexFunc(w.own, func(s *silence.Silence) bool { return s.ClockBehind > 0 && s.ClockBack == 0 }); i >= 0 {
		return fact{unknown, fmt.Sprintf("the clock of %s is %s behind. If it was set back while kubeflap was not watching, the node controller ignored the heartbeats",
			w.own[i].Node, phrase.Duration(w.own[i].ClockBehind))}
	}
	if w.own.Any(func(s *silence.Silence) bool { return s.Marked && s.MarkedAge == 0 && s.ClockBack == 0 }) {
		return fact{unknown, "it is unknown how old the newest heartbeat was when the node turned Unknown" + w.leaderText()}
	}
	return fact{yes, "no node turned Unknown while its heartbeats were on time"}
}

// leftReady tells whether the node controller left silent nodes Ready.
func leftReady(w *weighing) fact {
	certain := w.own.CountNodes(func(s *silence.Silence) bool { return s.NotMarkedCertain && s.ClockBack == 0 })
	perhaps := w.own.CountNodes(func(s *silence.Silence) bool {
		return s.NotMarked && !s.NotMarkedCertain && !s.Marked && s.ClockBack == 0
	})
	grace := ""
	if w.GracePeriod > 0 {
		grace = " of " + phrase.Duration(w.GracePeriod)
	}
	switch {
	case certain > 0:
		return fact{yes, phrase.Count(certain, "node was", "nodes were") + " silent for 15s longer than the grace period" + grace + ", and still Ready, while the API server answered: the node controller has not reacted" + w.leaderText()}
	case perhaps > 0 && w.own.All(func(s *silence.Silence) bool { return s.Guessed }):
		return fact{unknown, phrase.Count(perhaps, "silent node is", "silent nodes are") + " still Ready, but the grace period" + grace + " is only assumed. It may be longer"}
	case perhaps > 0:
		return fact{unknown, phrase.Count(perhaps, "silent node is", "silent nodes are") + " still Ready after the grace period" + grace + ": the node controller has not reacted, or a new leader gives each node a fresh grace period, or the cluster has a longer grace period"}
	}
	return fact{no, ""}
}
