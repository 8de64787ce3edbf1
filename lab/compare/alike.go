package compare

import (
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// Unlike compares two kubeflap instances that saw the same events, but in a different order across watches. It returns
// the differences of all counters, and of the causes of the last losses. In each Difference, Truth is the value of the
// first instance.
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

// same is stricter than agree: a series with the value 0 in one instance must also exist in the other.
func (d Difference) same() bool {
	if name := truth.Name(d.Series); name != lastLoss && isTime(name) {
		return d.agree()
	}
	return d.Truth == d.Reported
}

// orderless keeps the series that must be independent of the order across watches.
func orderless(reported truth.Counts) truth.Counts {
	kept := truth.Counts{}
	for series, value := range reported {
		switch name := truth.Name(series); {
		case !strings.HasPrefix(name, "kubeflap_"), strings.HasPrefix(name, "kubeflap_watch_"),
			strings.HasPrefix(name, "kubeflap_endpoints_propagation_seconds"), name == "kubeflap_service_stale_readds_total":
			// Drop metrics of the process and of the watches, and metrics that compare two watches.
		case strings.HasPrefix(name, "kubeflap_consumer_") && !strings.Contains(series, `window="0s"`):
			// Drop these windows: a kubelet makes a pod ready again after about 5 s, so it is random whether a window
			// of 5 s has closed by then.
		case name == lastLoss:
			// Keep the series, and thus the causes, but not the value: it depends on when each instance saw the loss.
			kept[series] = 1
		case strings.HasSuffix(name, "_total"), strings.HasSuffix(name, "_count"):
			kept[series] = value
		}
	}
	return kept
}
