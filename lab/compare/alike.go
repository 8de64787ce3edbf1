package compare

import (
	"strings"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// Unlike compares two kubeflap instances that received the same events in a different order, and returns the
// differences. It compares the counters, and the causes of each Service's last lost address. In each Difference, Truth
// is the value of the first instance.
func Unlike(first, second truth.Counts) []Difference {
	return differing(func(d Difference) (Difference, bool) { return d, !d.same() }, orderless(first), orderless(second))
}

// same compares the two values more strictly than the method agree does. A series with the value 0 must exist in both
// instances.
func (d Difference) same() bool {
	if name := truth.Name(d.Series); name != lastLoss && isTime(name) {
		return d.agree()
	}
	return d.Truth == d.Reported
}

// orderless returns the series whose values must not depend on the order of events from different watches.
func orderless(reported truth.Counts) truth.Counts {
	kept := truth.Counts{}
	for series, value := range reported {
		switch name := truth.Name(series); {
		case !strings.HasPrefix(name, "kubeflap_"), strings.HasPrefix(name, "kubeflap_watch_"),
			strings.HasPrefix(name, "kubeflap_endpoints_propagation_seconds"), name == "kubeflap_service_stale_readds_total":
			// Drop metrics of the process and of the watches. Also drop metrics that combine events of two watches.
		case strings.HasPrefix(name, "kubeflap_consumer_") && !strings.Contains(series, `window="0s"`):
			// Drop the metrics of clients that batch updates. A kubelet makes a pod ready again after about 5 s. At
			// that time, a window of 5 s can be open or closed.
		case name == lastLoss:
			// Compare only whether the series exists. Its value depends on when the instance received the event.
			kept[series] = 1
		case strings.HasSuffix(name, "_total"), strings.HasSuffix(name, "_count"):
			kept[series] = value
		}
	}
	return kept
}
