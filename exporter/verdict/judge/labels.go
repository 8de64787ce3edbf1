package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// maxValues limits the label values that commonText names.
const maxValues = 3

// commonText describes labels that all silent nodes share and other nodes lack: the rarest label, or a few values of
// one label that exactly the silent nodes have, such as two zones.
func commonText(silent silence.List, nodes int) string {
	best, several := transition.NodeLabel{Nodes: nodes}, ""
	for _, l := range silent[0].Labels {
		values, all := valuesOf(l.Key, silent)
		switch n := len(values); {
		case n == 1 && l.Nodes < best.Nodes:
			best = l
		case several == "" && n > 1 && n <= maxValues && 2*n <= len(silent) && all == len(silent) && all < nodes:
			// A label with a different value on each node would fit any set of nodes.
			several = strings.Join(values, " and ")
		}
	}
	switch {
	case best.Nodes == len(silent) && best.Key != "":
		return fmt.Sprintf("; they are the only nodes with %s=%s", best.Key, best.Value)
	case several != "":
		return "; they are the only nodes with " + several
	case best.Key != "":
		return fmt.Sprintf("; all have %s=%s, which %d nodes have in total", best.Key, best.Value, best.Nodes)
	case silent[0].Labels != nil:
		return "; no label distinguishes them from the others"
	}
	return ""
}

// valuesOf returns the values of a label, in order and each with its key, and how many nodes of the cluster have one of
// them. There are none if a silent node lacks the label.
func valuesOf(key string, silent silence.List) (values []string, nodes int) {
	have := map[string]int{}
	for _, s := range silent {
		i := slices.IndexFunc(s.Labels, func(l transition.NodeLabel) bool { return l.Key == key })
		if i < 0 {
			return nil, 0
		}
		value := key + "=" + s.Labels[i].Value
		if _, again := have[value]; !again {
			have[value] = s.Labels[i].Nodes
			nodes += s.Labels[i].Nodes
		}
	}
	return slices.Sorted(maps.Keys(have)), nodes
}

// upgradeText describes a kubelet upgrade that may have caused silences to begin together. The text is empty if there
// was no such upgrade.
func (w *weighing) upgradeText() string {
	n := len(w.group)
	if n > 0 && w.group.All(func(s *silence.Silence) bool { return w.Upgrades.Before(s) }) {
		// The upgrade affected these nodes, and few others.
		others := w.Upgrades.Count(w.group[0].Began, w.group[n-1].Began) - n
		text := "the kubelets of " + w.group.Nodes() + " were upgraded in the ten minutes before the silences"
		switch {
		case others <= 0:
			return "only " + text
		case others <= n:
			return text + ", and only " + phrase.Count(others, "other kubelet was", "other kubelets were")
		}
	}
	if n < 2 || !w.group.All(func(s *silence.Silence) bool { return s.Ended.IsZero() }) {
		return ""
	}
	// All nodes of the group are still silent, and an upgrade of them may be in progress.
	back := w.own.Filter(func(s *silence.Silence) bool { return s.Upgraded && w.isNear(s, w.group) })
	if len(back) == 0 {
		return ""
	}
	return back.Nodes() + " fell silent with them and came back with a different kubelet version, so an upgrade may have stopped all of them"
}

// otherThanPath explains why nodes may have fallen silent together without a fault on a shared path. The text is empty
// if there is no such explanation.
func (w *weighing) otherThanPath() string {
	isAway := func(s *silence.Silence) bool { return !s.Rebooted && s.Ended.IsZero() }
	back := w.group.Filter(func(s *silence.Silence) bool { return s.Rebooted })
	switch {
	case len(w.group) > 1 && w.group.All((*silence.Silence).IsGone):
		return "each of these Nodes was deleted soon after: somebody may have removed these machines without notice"
	case len(back) > 1 && len(back) < len(w.group) && len(back)+w.group.Count(isAway) == len(w.group):
		// All nodes of the group may have lost a shared host or power supply.
		return back.Nodes() + " fell silent with them and came back with a new bootID, so all of these machines may have restarted"
	}
	return ""
}
