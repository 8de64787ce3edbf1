package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// maxGroups limits the groups that othersText describes, and the label values that severalText names.
const maxGroups = 3

// commonText describes labels that all silent nodes share and other nodes lack.
func commonText(silent []*Silence, nodes int) string {
	best := commonLabel(silent, nodes)
	several := severalText(silent, nodes)
	switch {
	case best != nil && best.Nodes == len(silent):
		return fmt.Sprintf("; they are the only nodes with %s=%s", best.Key, best.Value)
	case several != "":
		return "; they are the only nodes with " + several
	case best != nil:
		return fmt.Sprintf("; all have %s=%s, which %d nodes have in total", best.Key, best.Value, best.Nodes)
	case silent[0].Labels != nil:
		return "; no label distinguishes them from the others"
	}
	return ""
}

// commonLabel returns the rarest of the labels that all silent nodes have and at least one other node lacks. It returns
// nil if there is no such label.
func commonLabel(silent []*Silence, nodes int) (best *transition.NodeLabel) {
	for i := range silent[0].Labels {
		l := &silent[0].Labels[i]
		for _, s := range silent[1:] {
			if !slices.ContainsFunc(s.Labels, func(x transition.NodeLabel) bool { return x.Key == l.Key && x.Value == l.Value }) {
				l = nil
				break
			}
		}
		if l != nil && l.Nodes < nodes && (best == nil || l.Nodes < best.Nodes) {
			best = l
		}
	}
	return best
}

// severalText names a few values of one label, such as two zones. The silent nodes are exactly the nodes with these
// values. The text is empty if there are no such values.
func severalText(silent []*Silence, nodes int) string {
	if len(silent) >= nodes {
		return ""
	}
	for i := range silent[0].Labels {
		key := silent[0].Labels[i].Key
		have, all := map[string]int{}, 0
		for _, s := range silent {
			at := slices.IndexFunc(s.Labels, func(l transition.NodeLabel) bool { return l.Key == key })
			if at < 0 {
				all = 0
				break
			}
			if l := s.Labels[at]; have[l.Value] == 0 {
				all += l.Nodes
			}
			have[s.Labels[at].Value]++
		}
		// A label with a different value on each node would fit any set of nodes.
		if n := len(have); all != len(silent) || n < 2 || n > maxGroups || 2*n > len(silent) {
			continue
		}
		var values []string
		for _, value := range slices.Sorted(maps.Keys(have)) {
			values = append(values, key+"="+value)
		}
		return strings.Join(values, " and ")
	}
	return ""
}

// othersText describes other groups of the incident's nodes that fell silent together. These groups fell silent earlier
// or later than the largest group.
func (f *NodeLoss) othersText() (text string) {
	group := f.largestGroup()
	rest := withoutNodes(slices.DeleteFunc(slices.Clone(f.Silences), func(s *Silence) bool { return s.BeganBlind || !f.isDisturbed(s) }), group)
	for range maxGroups {
		others := largestGroupOf(rest, f.Interval)
		if len(others) < 2 {
			break
		}
		if holds, _ := f.oneCause(others); holds == Yes {
			after, order := others[0].Began.Sub(group[0].Began), "later"
			if after < 0 {
				after, order = -after, "earlier"
			}
			text += fmt.Sprintf("; %d others fell silent %s %s%s", len(others), phrase.Duration(after.Round(time.Second)), order, commonText(others, f.Nodes))
		}
		rest = withoutNodes(rest, others)
	}
	return text
}

// withoutNodes removes the silences of the group's nodes. It changes the first slice in place.
func withoutNodes(all, group []*Silence) []*Silence {
	names := newNameSet(len(group))
	for _, s := range group {
		names.add(s.Node)
	}
	return slices.DeleteFunc(all, func(s *Silence) bool { return names.has(s.Node) })
}
