package postmortem

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// startOf returns the Services and nodes that match the filter and were not ready at the start of the recording. It
// omits those that became ready or were deleted before the period began.
func startOf(in *Input) (services, nodes []Unready) {
	if in.Start == nil {
		return nil, nil
	}
	f := in.Filter
	for _, x := range in.Start.Services {
		matches := f.Node == "" && (f.Namespace == "" || x.Namespace == f.Namespace) && (f.Service == "" || x.Name == f.Service)
		if matches && x.overlaps(in.From) {
			services = append(services, x)
		}
	}
	for _, x := range in.Start.Nodes {
		if f.Namespace == "" && (f.Node == "" || x.Name == f.Node) && x.overlaps(in.From) {
			nodes = append(nodes, x)
		}
	}
	return services, nodes
}

// startText describes the Services and nodes that were not ready at the start of the recording.
func startText(in *Input) (all []string) {
	services, nodes := startOf(in)
	when := ""
	if in.Start != nil {
		when = " (" + moment(in.Start.Time) + " UTC)"
	}
	if n := len(services); n > 0 {
		all = append(all, "At the start of the recording"+when+", "+phrase.Count(n, "Service", "Services")+" had no ready address: "+namesUntil(services)+
			". When that began is unknown, so the numbers here do not include it.")
		when = ""
	}
	if n := len(nodes); n > 0 {
		all = append(all, "At the start of the recording"+when+", "+phrase.Count(n, "node was", "nodes were")+" not Ready: "+namesUntil(nodes)+".")
	}
	return all
}

// namesUntil returns at most maxNamed names, each with the time at which the Service or node became ready or was
// deleted.
func namesUntil(all []Unready) string {
	var names []string
	for _, x := range all[:min(len(all), maxNamed)] {
		name := strings.TrimPrefix(x.Namespace+"/"+x.Name, "/")
		if x.Until.IsZero() {
			name += " (until the end)"
		} else {
			name += " (until " + moment(x.Until) + " UTC)"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(all) - maxNamed; more > 0 {
		text += " and " + phrase.Count(more, "more", "more")
	}
	return text
}

// withoutText says what is known about Services without a ready address, if no incident contains an outage.
func withoutText(in *Input) (all []string) {
	services, _ := startOf(in)
	no, since := noServiceText(in), ""
	switch {
	case in.Filter.Node != "":
		all = append(all, no+" lost its last ready address.")
	case in.Start == nil:
		since = "kubeflap began to watch"
	case in.Start.ServicesUnknown:
		since = "the recording began"
	case len(services) > 0:
		all = append(all, strings.Replace(no, "Service", "other Service", 1)+" was without a ready address.")
	default:
		all = append(all, no+" was without a ready address.")
	}
	if since != "" {
		all = append(all, no+" lost its last ready address. It is unknown whether a Service already had no ready address when "+since+".")
	}
	if in.Start != nil && in.Start.NodesUnknown {
		all = append(all, "It is unknown whether a node was already not Ready when the recording began.")
	}
	return all
}

// noServiceText returns "No Service", or a more careful phrase if kubeflap did not see everything.
func noServiceText(in *Input) string {
	if len(missingReasons(in)) > 0 {
		return "As far as kubeflap saw, no Service"
	}
	return "No Service"
}
