package report

import (
	"fmt"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// serviceRecommendations returns the recommendations about selector conflicts.
func (c *cluster) serviceRecommendations() (all []Recommendation) {
	for _, s := range c.services {
		if !s.Manual || !s.SelectorConflict {
			continue
		}
		x := Recommendation{
			Kind: "selector_conflict", Severity: warning, Namespace: s.Namespace, Service: s.Name, Set: "a selector, and manually managed Endpoints",
			Observed: "the manually managed addresses are still there, or were removed before kubeflap looked",
		}
		x.Advice, x.Why = advice.Affected{Cause: cause.EndpointsReset, Namespace: s.Namespace, Name: s.Name}.Advice()
		if s.ResetsWithSelector > 0 {
			x.Severity, x.Advice = bad, x.Advice+", then write the Endpoints again"
			x.Observed = "the manually managed addresses were removed " + phrase.Often(int(s.ResetsWithSelector))
		}
		all = append(all, x)
	}
	return all
}

// inPlaceRecommendations returns a recommendation for each namespace in which in-place updates took addresses away, or
// containers restarted while their pods stayed Ready.
func (c *cluster) inPlaceRecommendations() (all []Recommendation) {
	for _, n := range c.namespaces {
		x := Recommendation{Kind: "inplace_updates", Severity: warning, Namespace: n.Name, Set: "readiness gates that stay True while the image changes"}
		observed := []string{fmt.Sprintf("%s in running pods", phrase.Count(int(n.InPlaceUpdates), "image change", "image changes"))}
		for _, s := range c.services {
			if lost := int(s.Losses[cause.InPlaceUpdate]); s.Namespace == n.Name && lost > 0 {
				x.Services = append(x.Services, s.Name)
				observed = append(observed, fmt.Sprintf("%s lost %s because of these changes", s.Name, phrase.Count(lost, "ready address", "ready addresses")))
			}
		}
		if n.InPlaceUpdates == 0 || len(x.Services) == 0 && n.SilentRestarts == 0 {
			continue
		}
		if n.SilentRestarts > 0 {
			observed = append(observed, phrase.Count(int(n.SilentRestarts), "container", "containers")+" restarted while the pod stayed Ready")
		}
		x.Observed = strings.Join(observed, "; ")
		x.Advice, x.Why = advice.Affected{Cause: cause.InPlaceUpdate}.Advice()
		if n.UngatedUpdates > 0 {
			x.Set = fmt.Sprintf("%d updates of pods without a readiness gate", n.UngatedUpdates)
			x.Advice = "give these pods a readiness gate (spec.readinessGates), and configure the updater to set it to False before each update, and to True afterwards"
		}
		all = append(all, x)
	}
	return all
}
