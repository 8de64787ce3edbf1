package incident

import (
	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// consumerBounced takes in that a consumer of Endpoints would have put an address back and taken it out again. It is told of updates in
// place only, and how often is what the fold counts.
func (l *Log) consumerBounced(x transition.ConsumerBounced) {
	a := l.addresses[keyOfAddress(x.Address)]
	if a == nil {
		return
	}
	r := a.record.root()
	if r.cause != cause.InPlaceUpdate {
		return
	}
	for i, window := range track.Windows() {
		if window == x.Window {
			r.consumerBounces[i]++
		}
	}
}

// windows says what consumers would have done that gather changes for a while,
// as load-balancer controllers do.
func (r *record) windows() []advice.Window {
	var all []advice.Window
	for i, window := range track.Windows() {
		all = append(all, advice.Window{Length: window, Bounces: r.consumerBounces[i]})
	}
	return all
}
