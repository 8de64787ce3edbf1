package verdict

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func rebooted(f *NodeLoss) (Answer, string) {
	n := f.countSilences(func(s *Silence) bool { return s.Rebooted })
	deleted := f.countSilences((*Silence).isDeleted)
	away := f.countSilences(func(s *Silence) bool { return s.Ended.IsZero() }) - deleted
	switch {
	case len(f.Silences) > 0 && n == len(f.Silences):
		return Yes, nodesText(f.Silences) + " reported a new bootID after the silence"
	case f.countSilences(func(s *Silence) bool { return s.Again == transition.MachineUnclear }) > 0:
		return Unknown, machineUnclearText
	case f.countSilences(func(s *Silence) bool { return s.Again == transition.MachineReplaced }) > 0:
		return No, "a machine with a different providerID now has the name of the deleted Node"
	case deleted > 0:
		return Unknown, "the Node was deleted, so no bootID shows whether the machine restarted"
	case away > 0:
		return Unknown, "when the node is back, its bootID will show whether the machine restarted"
	case n > 0:
		return No, fmt.Sprintf("only %d of %d nodes reported a new bootID", n, len(f.Silences))
	}
	return No, "the bootID is the same as before"
}

// rebooting names nodes that rebooted while other nodes of the group are still silent. All nodes of the group may have
// lost a shared host or power supply. The text is empty if fewer than two nodes rebooted, if no node is still silent,
// or if a node came back without a reboot.
func (f *NodeLoss) rebooting() string {
	var back []string
	away := 0
	for _, s := range f.largestGroup() {
		switch {
		case s.Rebooted:
			back = append(back, s.Node)
		case s.Ended.IsZero():
			away++
		default:
			return ""
		}
	}
	if len(back) < 2 || away == 0 {
		return ""
	}
	return phrase.Some(back) + " fell silent with them and came back with a new bootID, so all of these machines may have restarted"
}
