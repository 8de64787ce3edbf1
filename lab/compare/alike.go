package compare

import (
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// Unlike lists in what two kubeflaps differ that saw the same, though the order among their watches was another: all
// counters, and the causes of the last losses. Truth is what the first of them tells.
func Unlike(first, second truth.Counts) []Difference {
	first, second = orderless(first), orderless(second)
	series := map[string]bool{}
	for _, counts := range []truth.Counts{first, second} {
		for s := range counts {
			series[s] = true
		}
	}
	var all []Difference
	for s := range series {
		if d := (Difference{s, value(first, s), value(second, s)}); !d.same() {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Series, b.Series) })
	return all
}

// same is stricter than agree: a series that one of them has at 0 the other must have, too.
func (d Difference) same() bool {
	if name := truth.Name(d.Series); name != lastLoss && isTime(name) {
		return d.agree()
	}
	return d.Truth == d.Told
}

// orderless keeps the series that may not depend on the order among watches.
func orderless(told truth.Counts) truth.Counts {
	kept := truth.Counts{}
	for series, value := range told {
		switch name := truth.Name(series); {
		case !strings.HasPrefix(name, "kubeflap_"), strings.HasPrefix(name, "kubeflap_watch_"),
			strings.HasPrefix(name, "kubeflap_endpoints_propagation_seconds"), name == "kubeflap_service_stale_readds_total":
			// Of the process, of the watches themselves, and of what lies between two of them.
		case strings.HasPrefix(name, "kubeflap_consumer_") && !strings.Contains(series, `window="0s"`):
			// A kubelet brings a pod back after five seconds more or less: whether a window of five has closed is luck.
		case name == lastLoss:
			// By which cause there is one; when it was, each kubeflap tells as it saw it.
			kept[series] = 1
		case strings.HasSuffix(name, "_total"), strings.HasSuffix(name, "_count"):
			kept[series] = value
		}
	}
	return kept
}
