package postmortem

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// effectOf summarizes the effect of an incident.
func effectOf(x *api.Incident) string {
	if x.Withdrawn != "" {
		return "withdrawn: " + x.Withdrawn
	}
	var parts []string
	if n := len(x.Nodes) + x.NodesLeftOut; n > 1 && x.Scope != "service" && x.Scope != "workload" {
		parts = append(parts, phrase.Count(n, "node", "nodes"))
	}
	if n := x.AddressesLost; n > 0 {
		services := phrase.Count(len(x.Services)+x.ServicesLeftOut, "Service", "Services")
		parts = append(parts, phrase.Count(n, "address", "addresses")+" of "+services)
	}
	if x.Outages > 0 {
		parts = append(parts, "no ready address for "+aboutPrefix(x.Services)+seconds(x.OutageSeconds))
	}
	if n := x.PodsEvicted; n > 0 {
		parts = append(parts, phrase.Count(n, "pod", "pods")+" evicted")
	}
	if manualLost(x) {
		parts = append(parts, "manually managed addresses removed")
	}
	if len(parts) == 0 {
		return "no ready address lost"
	}
	return strings.Join(parts, ", ")
}

// manualLost reports whether, in an incident, a Service lost only manually managed addresses of an Endpoints object. If
// kubeflap reads EndpointSlices, it does not count these addresses as lost.
func manualLost(x *api.Incident) bool {
	return x.Scope == "service" && x.AddressesLost == 0 &&
		slices.ContainsFunc(x.Timeline, func(s api.Span) bool { return s.Lane == string(incident.TrackAddress) })
}

func aboutPrefix(services []api.Service) string {
	if slices.ContainsFunc(services, func(s api.Service) bool { return s.Inexact }) {
		return "about "
	}
	return ""
}

func effectRow(s *api.Service) effect {
	down := "-"
	if s.Outages > 0 || s.Down {
		down = aboutPrefix([]api.Service{*s}) + seconds(s.OutageSeconds)
	}
	if s.Down {
		down += " so far"
	}
	return effect{s.Namespace + "/" + s.Service, fmt.Sprint(s.AddressesLost), fmt.Sprint(s.AddressesBack), fmt.Sprint(s.Outages), down}
}

func figuresOf(x *api.Incident) (all []fact) {
	add := func(name string, value float64) {
		if value > 0 {
			all = append(all, fact{Name: name, Value: seconds(value)})
		}
	}
	add("Grace period", x.Numbers.GracePeriod)
	longest := "Longest heartbeat interval"
	if x.Numbers.LongestAtLeast {
		longest += " (at least: kubeflap did not see it end)"
	}
	add(longest, x.Numbers.LongestInterval)
	add("Recommended grace period for the cluster", x.Numbers.RecommendedGracePeriod)
	if x.NodeTransitions > 0 {
		all = append(all, fact{Name: "Number of times nodes turned not Ready or Unknown", Value: fmt.Sprint(x.NodeTransitions)})
	}
	if x.PodsEvicted > 0 {
		all = append(all, fact{Name: "Pods evicted", Value: fmt.Sprint(x.PodsEvicted)})
	}
	return all
}
