package coverage

import (
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Missed describes the changes that kubeflap may have missed in the gap.
func (g *Gap) Missed() string {
	if len(g.Resources) == len(event.Kinds()) {
		return "every change that was reverted before the end of the gap, and the time of every other change"
	}
	var all []string
	for _, k := range event.Kinds() {
		if slices.Contains(g.Resources, k.String()) {
			all = append(all, missedIn(k))
		}
	}
	return strings.Join(all, "; ")
}

func missedIn(k event.Kind) string {
	switch k {
	case event.KindNode:
		return "nodes that were not Ready for a short time, and taints"
	case event.KindLease:
		return "late and missed heartbeats"
	case event.KindPod:
		return "pods that were not Ready for a short time, and why addresses were lost"
	case event.KindService:
		return "Services that were created, changed or deleted"
	case event.KindEndpointSlice:
		return "addresses that were lost for a short time, and outages of Services"
	case event.KindEndpoints:
		return "changes of manually managed Endpoints"
	}
	return k.String()
}
