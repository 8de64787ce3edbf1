package advice

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// serviceFindings are those about hand-written Endpoints.
func serviceFindings(services []Service) (found []Finding) {
	for _, s := range services {
		if s.Conflict {
			found = append(found, conflict(s))
		}
		if s.ResetsSelectorless > 0 {
			found = append(found, emptied(s))
		}
	}
	return found
}

func conflict(s Service) Finding {
	x := Finding{
		Kind: SelectorConflict, Severity: Warning, Namespace: s.Namespace, Service: s.Name,
		Set:      "a selector, and Endpoints written by hand",
		Observed: "the hand-written addresses are there still",
		Advice: fmt.Sprintf(`remove the selector: kubectl -n %s patch service %s --type=json -p '[{"op":"remove","path":"/spec/selector"}]'`,
			s.Namespace, s.Name),
		Why: "the endpoints controller makes the Endpoints of a Service with a selector itself: at its next sync it replaces what was written by hand with the pods that match, and none does.",
	}
	if s.ResetsWithSelector > 0 {
		x.Severity = Bad
		x.Observed = "the hand-written addresses were wiped " + times(s.ResetsWithSelector)
		x.Advice += ", then write the Endpoints again"
	}
	return x
}

func emptied(s Service) Finding {
	return Finding{
		Kind: EndpointsEmptied, Severity: Warning, Namespace: s.Namespace, Service: s.Name,
		Set:      "no selector, and Endpoints written by hand",
		Observed: "the hand-written addresses were emptied or deleted " + times(s.ResetsSelectorless),
		Advice:   "find who writes them (managedFields of the Endpoints, the audit log) and let it replace them in one write",
		Why:      "no controller touches the Endpoints of a Service without a selector: a client deleted them, or wrote them empty first.",
	}
}

// inPlaceFindings are those about pods that are updated in place.
func inPlaceFindings(c Cluster) (found []Finding) {
	for _, n := range c.Namespaces {
		hit := hitInPlace(c.Services, n.Name)
		if n.InPlaceUpdates > 0 && (len(hit) > 0 || n.SilentRestarts > 0) {
			found = append(found, inPlace(n, hit))
		}
	}
	return found
}

func hitInPlace(services []Service, namespace string) (hit []Service) {
	for _, s := range services {
		if s.Namespace == namespace && s.InPlaceLosses > 0 {
			hit = append(hit, s)
		}
	}
	return hit
}

func inPlace(n Namespace, hit []Service) Finding {
	observed := []string{fmt.Sprintf("%s to running pods", several(n.InPlaceUpdates, "image change"))}
	for _, s := range hit {
		observed = append(observed, fmt.Sprintf("%s lost %s by them, and %s back soon after",
			s.Name, several(s.InPlaceLosses, "ready address", "es"), wereOf(s.Bounces)))
	}
	if n.SilentRestarts > 0 {
		observed = append(observed, several(n.SilentRestarts, "container")+" restarted with the pod Ready all the while")
	}
	x := Finding{
		Kind: InPlaceUpdates, Severity: Warning, Namespace: n.Name,
		Set:      "readiness gates that stay True while the image changes",
		Observed: strings.Join(observed, "; "),
		Advice:   "let whatever updates these pods turn their readiness gate False before, and True after",
		Why:      "a kubelet says Ready until the old container is really gone: only a gate takes the address out of rotation first.",
	}
	if n.UngatedUpdates > 0 {
		x.Set = fmt.Sprintf("no readiness gate on the pods of %d of the updates", n.UngatedUpdates)
		x.Advice = "give these pods a readiness gate (spec.readinessGates), and let whatever updates them turn it False before, and True after"
	}
	for _, s := range hit {
		x.Services = append(x.Services, s.Name)
	}
	if hidden := hidingWindow(n.BouncesByWindow); hidden != "" {
		x.Advice += "; " + hidden
	}
	return x
}

func wereOf(bounces uint64) string {
	if bounces == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", bounces)
}

// hidingWindow says which gathering of changes would have hidden the bounces; empty if it is not known.
func hidingWindow(bounces map[time.Duration]uint64) string {
	windows := make([]time.Duration, 0, len(bounces))
	for window := range bounces {
		windows = append(windows, window)
	}
	slices.Sort(windows)
	if len(windows) == 0 || bounces[windows[0]] == 0 {
		return ""
	}
	for _, window := range windows {
		if bounces[window] == 0 {
			return fmt.Sprintf("until then let what reads the Endpoints gather changes for %s, which would have hidden the bounces", window)
		}
	}
	return fmt.Sprintf("gathering changes for %s does not hide it", windows[len(windows)-1])
}
