package chart

import (
	"slices"
	"testing"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// violations returns where a pod violates a Pod Security Standard, such as restricted. It uses the API server's own
// code.
func violations(t *testing.T, level, input string) []string {
	t.Helper()
	evaluator := try(policy.NewEvaluator(policy.DefaultChecks(), nil))(t)
	parsed := try(api.ParseLevel(level))(t)
	template := podTemplate(t, render(t, input))
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(api.LevelVersion{Level: parsed, Version: api.LatestVersion()}, &template.ObjectMeta, &template.Spec))
	return result.ForbiddenReasons
}

// With each values file, and also as a StatefulSet, the pods must comply with the restricted standard. The only
// exceptions are the file with hostNetwork and the file that changes every value.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	level := string(api.LevelRestricted)
	for name, input := range valuesFiles(t) {
		found := violations(t, level, input)
		if excepted := slices.Contains([]string{"host-network-values.yaml", "everything-values.yaml"}, name); (len(found) > 0) != excepted {
			t.Errorf("%s: %q", name, found)
		}
	}
}
