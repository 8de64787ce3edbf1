package incident

import (
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// consumerBounced takes in that a consumer of Endpoints would have put an address back and taken it out again. It is told of updates in
// place only, and how often is what the fold counts.
func (l *Log) consumerBounced(x transition.ConsumerBounced) {
	a := l.addresses[keyOfAddress(x.Address)]
	if a == nil || a.record == nil {
		return
	}
	r := a.record.root()
	if r.cause != cause.InPlaceUpdate {
		return
	}
	for i, window := range consumers.Windows() {
		if window == x.Window {
			r.consumerBounces[i]++
		}
	}
}

// windows says what consumers would have done that gather changes for a while,
// as load-balancer controllers do.
func (r *record) windows() []Window {
	var all []Window
	for i, window := range consumers.Windows() {
		all = append(all, Window{window, r.consumerBounces[i]})
	}
	return all
}
