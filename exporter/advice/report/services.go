package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
)

// serviceRecommendations returns the recommendations about selector conflicts.
func serviceRecommendations(all []services.Service) (given []Recommendation) {
	for _, s := range all {
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
		given = append(given, x)
	}
	return given
}

// inPlaceRecommendations returns the recommendations about in-place updates.
func (c *cluster) inPlaceRecommendations() (all []Recommendation) {
	for _, n := range c.namespaces {
		if n.InPlaceUpdates == 0 {
			continue
		}
		hit := slices.DeleteFunc(slices.Clone(c.services), func(s services.Service) bool { return s.Namespace != n.Name || inPlaceLosses(s) == 0 })
		if len(hit) > 0 || n.SilentRestarts > 0 {
			all = append(all, inPlace(n, hit))
		}
	}
	return all
}

// inPlaceLosses returns the number of ready addresses that the Service lost to in-place updates.
func inPlaceLosses(s services.Service) int { return int(s.Losses[cause.InPlaceUpdate]) }

func inPlace(n pods.Namespace, hit []services.Service) Recommendation {
	observed := []string{fmt.Sprintf("%s in running pods", phrase.Count(int(n.InPlaceUpdates), "image change", "image changes"))}
	for _, s := range hit {
		observed = append(observed, fmt.Sprintf("%s lost %s because of these changes", s.Name, phrase.Count(inPlaceLosses(s), "ready address", "ready addresses")))
	}
	if n.SilentRestarts > 0 {
		observed = append(observed, phrase.Count(int(n.SilentRestarts), "container", "containers")+" restarted while the pod stayed Ready")
	}
	x := Recommendation{
		Kind: "inplace_updates", Severity: warning, Namespace: n.Name,
		Set:      "readiness gates that stay True while the image changes",
		Observed: strings.Join(observed, "; "),
	}
	x.Advice, x.Why = advice.Affected{Cause: cause.InPlaceUpdate}.Advice()
	if n.UngatedUpdates > 0 {
		x.Set = fmt.Sprintf("%d updates of pods without a readiness gate", n.UngatedUpdates)
		x.Advice = "give these pods a readiness gate (spec.readinessGates), and configure the updater to set it to False before each update, and to True afterwards"
	}
	for _, s := range hit {
		x.Services = append(x.Services, s.Name)
	}
	return x
}
