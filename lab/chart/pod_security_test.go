package chart

import (
	"slices"
	"strings"
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
	for input, want := range map[string]string{
		"podSecurityContext: {runAsNonRoot: false}":                "runAsNonRoot != true",
		"podSecurityContext: {runAsUser: 0}":                       "runAsUser=0",
		"podSecurityContext: {seccompProfile: {type: Unconfined}}": "seccompProfile",
		"securityContext: {allowPrivilegeEscalation: true}":        "allowPrivilegeEscalation != false",
		"securityContext: {capabilities: {drop: []}}":              "unrestricted capabilities",
		"volumes: [{name: h, hostPath: {path: /}}]":                "restricted volume types",
		"hostNetwork: true":                                        "host namespaces",
	} {
		if found := violations(t, level, input); !slices.ContainsFunc(found, func(reason string) bool { return strings.Contains(reason, want) }) {
			t.Errorf("%s: %q, want %q", input, found, want)
		}
	}
	if found := violations(t, string(api.LevelBaseline), "hostNetwork: true"); len(found) == 0 {
		t.Error("the pod complies with baseline in spite of hostNetwork")
	}
}
