package whatif

import (
	"math"

	"github.com/kubeflap/kubeflap/exporter/track/grace"
)

// limits holds the flags that limit the rate at which the node lifecycle controller taints nodes.
type limits struct {
	// rate is --node-eviction-rate, and secondary is --secondary-node-eviction-rate. Both apply to each zone, and are
	// in nodes per second.
	rate, secondary float64
	// unhealthy is --unhealthy-zone-threshold, as a fraction of the zone's nodes.
	unhealthy float64
}

// largeZone is the default of --large-cluster-size-threshold. Recordings do not contain this flag.
const largeZone = 50

// limitsOf returns the recorded flags, and the defaults of flags that are not recorded (kube-controller-manager,
// pkg/controller/nodelifecycle/config/v1alpha1).
func limitsOf(recorded []grace.Flag) limits {
	l := limits{rate: 0.1, secondary: 0.01, unhealthy: 0.55}
	for _, flag := range recorded {
		switch flag.Name {
		case "node-eviction-rate":
			l.rate = flag.Value
		case "secondary-node-eviction-rate":
			l.secondary = flag.Value
		case "unhealthy-zone-threshold":
			l.unhealthy = flag.Value
		}
	}
	return l
}

// rates returns the highest and the lowest possible rate at which the controller taints the nodes of a zone. low and
// high are the minimum and the maximum number of Unknown nodes in the zone. The rate is reduced if the fraction of
// Unknown nodes reaches --unhealthy-zone-threshold and at least three nodes are Unknown. If all nodes of the zone are
// Unknown, the usual rate applies. The controller stops tainting only if all nodes in all zones are Unknown (node
// lifecycle controller, ComputeZoneState, handleDisruption and ReducedQPSFunc).
func (l limits) rates(zone size, low, high int, onlyZone bool) (fast, slow float64) {
	least := func(size int) int { return max(3, int(math.Ceil(l.unhealthy*float64(size)))) }
	most := func(size int) int { return size - count(!onlyZone) }
	reduced := func(size int) float64 { return l.secondary * float64(count(size > largeZone)) }
	switch {
	case least(zone.least) > most(zone.most) || high < least(zone.least) || low > most(zone.most):
		return l.rate, l.rate
	case low >= least(zone.most) && high <= most(zone.least):
		return reduced(zone.most), reduced(zone.least)
	}
	return max(l.rate, reduced(zone.most)), min(l.rate, reduced(zone.least))
}
