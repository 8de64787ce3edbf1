package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// oneNode judges whether the fault lies in the node itself, and not in something that it shares with other nodes.
func oneNode(f *NodeLoss) (Answer, string) {
	if f.countUnseen() > 0 {
		return Unknown, unseenText
	}
	if n := f.countSilences(func(s *Silence) bool { return s.ClockBack > 0 }); n > 0 && n == len(f.Silences) {
		return Yes, clockText(f.Silences)
	}
	if n := f.countSilences(func(s *Silence) bool { return s.Upgraded }); n > 0 && n == len(f.Silences) {
		return Yes, "the kubelet of " + nodesText(f.Silences) + " was upgraded: it reported a different version after the silence"
	}
	if why := f.silenceDoubt(); why != "" {
		return Unknown, why
	}
	if len(f.Silences) == 0 {
		return Yes, "the kubelet reported the node as not ready, or restarted"
	}
	if holds, why := f.oneOfSeveral(); why != "" {
		return holds, why
	}
	if why := f.maybeShared(); why != "" {
		return Unknown, why
	}
	others := f.Nodes - len(nodesOf(f.Silences))
	if others > 0 && f.othersUnseen() {
		return Unknown, othersUnseenText
	}
	if late := f.lateToo(); len(late) > 0 {
		return Unknown, phrase.Some(late) + " became late at the same time"
	}
	if f.countSilences(func(s *Silence) bool { return s.Again == transition.MachineUnclear }) > 0 {
		return Unknown, machineUnclearText
	}
	if f.countSilences((*Silence).isGone) > 0 {
		return Unknown, "the machine is gone: it was reclaimed, or it failed and was replaced"
	}
	if f.countSilences(f.isDisturbed) == 0 {
		return No, "no heartbeat was late"
	}
	switch {
	case others <= 0 && f.ControlPlane.readFailed(f.span()):
		return Unknown, "there is no other node to compare with, and the API server could not read Leases at that time"
	case others <= 0:
		return Yes, "there is no other node to compare with, and no evidence against the API server"
	}
	return Yes, f.othersSent(others) + deletedText(f)
}

// If a Node is deleted within goneWithin of its last heartbeat, its machine may have been reclaimed. The
// cloud-controller-manager deletes a Node without a machine soon after the Node stops being Ready (node lifecycle
// controller of cloud-provider, MonitorNodes). If the Node is deleted later, the machine probably failed first.
const goneWithin = 10 * time.Minute

// isGone reports whether the node's machine may have been reclaimed.
func (s *Silence) isGone() bool {
	return s.isDeleted() && s.Deleted.Sub(s.Began) <= goneWithin
}

// oneOfSeveral checks whether other nodes fell silent at the same time, which would be evidence against a fault of the
// node itself. The text is empty if there is no such evidence.
func (f *NodeLoss) oneOfSeveral() (Answer, string) {
	if len(f.largestGroup()) < 2 {
		if late := f.lateWith(); late != nil {
			return No, "other nodes were late at the same time"
		}
		return Unknown, ""
	}
	switch f.sharedAnswer() {
	case Yes:
		return No, "several nodes fell silent together"
	case Unknown:
		why := "which may be chance"
		if upgraded := f.upgradeText(); upgraded != "" {
			return Unknown, "several nodes fell silent together: " + upgraded
		}
		if other := f.otherThanPath(); other != "" {
			why = "and " + other
		}
		return Unknown, "several nodes fell silent together, " + why
	}
	return Unknown, ""
}

// otherThanPath explains why nodes may have fallen silent together without a fault on a shared path. The text is empty
// if there is no such explanation.
func (f *NodeLoss) otherThanPath() string {
	if f.allGone() {
		return allGoneText
	}
	return f.rebooting()
}

const allGoneText = "each of these Nodes was deleted soon after: somebody may have removed these machines without notice"

// allGone reports whether the machines of all nodes that fell silent together may have been reclaimed, for example by a
// scaling group.
func (f *NodeLoss) allGone() bool {
	group := f.largestGroup()
	return len(group) > 1 && !slices.ContainsFunc(group, func(s *Silence) bool { return !s.isGone() })
}

const machineUnclearText = "the Node was deleted and recreated with a new bootID, and no providerID identifies the machine, so it was either rebooted or replaced"

// isDeleted reports whether the Node was deleted while it was silent.
func (s *Silence) isDeleted() bool { return !s.Deleted.IsZero() && s.Ended.IsZero() }

// deletedText describes the deletion of a silent Node. The text is empty if no Node was deleted.
func deletedText(f *NodeLoss) string {
	for _, s := range f.Silences {
		if s.isDeleted() {
			return fmt.Sprintf("; the Node was deleted %s after its last heartbeat, but the Node of a reclaimed machine would have been deleted sooner", phrase.Duration(s.Deleted.Sub(s.Began)))
		}
	}
	return ""
}

// silenceDoubt explains what is uncertain about the silences, such as their start times. The text is empty if nothing
// is uncertain.
func (f *NodeLoss) silenceDoubt() string {
	switch n := f.countBlind(); {
	case n > 0 && n == len(f.Silences):
		return f.blindText()
	case f.beganBlind():
		return beganBlindText
	}
	return f.announcementDoubt()
}

// clockText explains that the nodes' clocks were set back.
func clockText(all []*Silence) string {
	most := slices.MaxFunc(all, func(a, b *Silence) int { return cmp.Compare(a.ClockBack, b.ClockBack) }).ClockBack
	return "the clock of " + nodesText(all) + " was set back by " + phrase.Duration(most) + ". The node controller ignores heartbeats until their timestamps exceed the last accepted timestamp"
}
