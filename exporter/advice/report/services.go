package report

import (
	"fmt"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// serviceRecommendations returns the recommendations about selector conflicts, foreign addresses and emptied Endpoints.
func serviceRecommendations(services []Service) (all []Recommendation) {
	for _, s := range services {
		if s.Conflict {
			all = append(all, conflict(s))
		}
		if s.ForeignAddresses > 0 && !s.Conflict {
			all = append(all, foreign(s))
		}
		if s.ResetsSelectorless > 0 {
			all = append(all, emptied(s))
		}
	}
	return all
}

func conflict(s Service) Recommendation {
	a := advice.Affected{Cause: cause.EndpointsReset, Namespace: s.Namespace, Name: s.Name}
	x := Recommendation{
		Kind: SelectorConflict, Severity: Warning, Namespace: s.Namespace, Service: s.Name,
		Set:      "a selector, and manually managed Endpoints",
		Observed: "the manually managed addresses are still there, or were removed before kubeflap looked",
		Advice:   a.Advice(),
		Why:      a.Why(),
	}
	if s.ResetsWithSelector > 0 {
		x.Severity = Bad
		x.Observed = "the manually managed addresses were removed " + times(s.ResetsWithSelector)
		x.Advice += ", then write the Endpoints again"
	}
	return x
}

func foreign(s Service) Recommendation {
	a := advice.Affected{Cause: cause.ManualWrite, Name: s.Name, Pending: true}
	return Recommendation{
		Kind: ForeignAddresses, Severity: Warning, Namespace: s.Namespace, Service: s.Name,
		Set:      "a selector, and addresses that Kubernetes controllers do not manage",
		Observed: phrase.Count(int(s.ForeignAddresses), "address", "addresses") + " from an unexpected writer",
		Advice:   a.Remedy(),
		Why:      "a ready address gets traffic no matter who wrote it, and Kubernetes controllers only update their own objects.",
	}
}

func emptied(s Service) Recommendation {
	a := advice.Affected{Cause: cause.ManualWrite}
	return Recommendation{
		Kind: EndpointsEmptied, Severity: Warning, Namespace: s.Namespace, Service: s.Name,
		Set:      "no selector, and manually managed Endpoints",
		Observed: "the manually managed addresses were emptied or deleted " + times(s.ResetsSelectorless),
		Advice:   a.Advice(),
		Why:      a.Why(),
	}
}

// inPlaceRecommendations returns the recommendations about in-place updates.
func inPlaceRecommendations(c Cluster) (all []Recommendation) {
	for _, n := range c.Namespaces {
		hit := hitInPlace(c.Services, n.Name)
		if n.InPlaceUpdates > 0 && (len(hit) > 0 || n.SilentRestarts > 0) {
			all = append(all, inPlace(n, hit))
		}
	}
	return all
}

func hitInPlace(services []Service, namespace string) (hit []Service) {
	for _, s := range services {
		if s.Namespace == namespace && s.InPlaceLosses > 0 {
			hit = append(hit, s)
		}
	}
	return hit
}

func inPlace(n Namespace, hit []Service) Recommendation {
	observed := []string{fmt.Sprintf("%s in running pods", phrase.Count(int(n.InPlaceUpdates), "image change", "image changes"))}
	for _, s := range hit {
		observed = append(observed, fmt.Sprintf("%s lost %s because of these changes, and %s back soon afterwards",
			s.Name, phrase.Count(int(s.InPlaceLosses), "ready address", "ready addresses"), phrase.Count(int(s.Bounces), "was", "were")))
	}
	if n.SilentRestarts > 0 {
		observed = append(observed, phrase.Count(int(n.SilentRestarts), "container", "containers")+" restarted while the pod stayed Ready")
	}
	a := advice.Affected{Cause: cause.InPlaceUpdate, Windows: n.Windows}
	x := Recommendation{
		Kind: InPlaceUpdates, Severity: Warning, Namespace: n.Name,
		Set:      "readiness gates that stay True while the image changes",
		Observed: strings.Join(observed, "; "),
		Advice:   a.Advice(),
		Why:      a.Why(),
	}
	if n.UngatedUpdates > 0 {
		x.Set = fmt.Sprintf("%d updates of pods without a readiness gate", n.UngatedUpdates)
		x.Advice = "give these pods a readiness gate (spec.readinessGates), and configure the updater to set the gate to False before each update, and to True afterwards"
	}
	for _, s := range hit {
		x.Services = append(x.Services, s.Name)
	}
	x.Advice += a.WindowAdvice()
	return x
}
