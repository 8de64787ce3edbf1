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

// serviceRecommendations returns the recommendations about selector conflicts, foreign addresses and emptied Endpoints.
func serviceRecommendations(all []services.Service) (given []Recommendation) {
	for _, s := range all {
		add := func(kind, severity, set, observed, advice, why string) {
			given = append(given, Recommendation{
				Kind: kind, Severity: severity, Namespace: s.Namespace, Service: s.Name, Set: set, Observed: observed, Advice: advice, Why: why,
			})
		}
		remove, why := advice.Affected{Cause: cause.EndpointsReset, Namespace: s.Namespace, Name: s.Name}.Advice()
		conflict := s.Manual && s.SelectorConflict
		switch {
		case conflict && s.ResetsWithSelector > 0:
			add("selector_conflict", bad, "a selector, and manually managed Endpoints",
				"the manually managed addresses were removed "+phrase.Often(int(s.ResetsWithSelector)), remove+", then write the Endpoints again", why)
		case conflict:
			add("selector_conflict", warning, "a selector, and manually managed Endpoints",
				"the manually managed addresses are still there, or were removed before kubeflap looked", remove, why)
		case s.ForeignAddresses > 0:
			add("foreign_addresses", warning, "a selector, and addresses that Kubernetes controllers do not manage",
				phrase.Count(s.ForeignAddresses, "address", "addresses")+" from an unexpected writer",
				advice.Affected{Cause: cause.ManualWrite, Name: s.Name, Pending: true}.Remedy(),
				"a ready address gets traffic no matter who wrote it, and Kubernetes controllers only update their own objects.")
		}
		if s.Manual && s.ResetsSelectorless > 0 {
			find, why := advice.Affected{Cause: cause.ManualWrite}.Advice()
			add("endpoints_emptied", warning, "no selector, and manually managed Endpoints",
				"the manually managed addresses were emptied or deleted "+phrase.Often(int(s.ResetsSelectorless)), find, why)
		}
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
