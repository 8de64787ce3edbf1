package chart

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pmezard/go-difflib/difflib"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// named sets all values that are names, for each kind that the chart renders.
const named = `{
	nameOverride: "NAME", fullnameOverride: flaps, serviceAccount: {name: "NAME"}, priorityClassName: "NAME", imagePullSecrets: [{name: "NAME"}], 
	global: {imagePullSecrets: [{name: "NAME"}]}, commonAnnotations: {team: "NAME"}, service: {annotations: {tier: "NAME"}},
	ingress: {enabled: true, className: "NAME", hosts: [{host: "NAME"}], tls: [{secretName: "NAME"}]},
	httpRoute: {enabled: true, parentRefs: [{name: "NAME"}]},
	scope: {namespace: "NAME", nodes: true}, commonLabels: {team: "NAME"}, podLabels: {tier: "NAME"}, podAnnotations: {on: "NAME"},
	image: {registry: "", repository: "123", tag: "NAME"}, webConfig: {existingSecret: "NAME"}, settings: {logFormat: json},
	networkPolicy: {enabled: true}, dashboards: {enabled: true, namespace: "NAME"},
	monitor: {enabled: true, namespace: "monitors", spec: {jobLabel: "NAME"}, additionalLabels: {team: "NAME"}},
	prometheusRule: {enabled: true, namespace: "NAME", additionalRuleLabels: {team: "NAME"}},
}`

// The chart must render names as strings. Without quotes, YAML would parse some names as a number, a boolean or null.
// With each of these names, the objects must be those with an ordinary name, apart from the name itself.
func TestNamesAreStrings(t *testing.T) {
	t.Parallel()
	with := func(name string) string {
		return asJSON(t, renderAs(t, name, name, strings.ReplaceAll(named, "NAME", name)))
	}
	ordinary := with("ordinary")
	for _, name := range []string{"123", "on", "y", "true", "null", "1e3", "0x1f", "0o14", "0b1", "007", "2024-01-01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := with(name), strings.ReplaceAll(ordinary, "ordinary", name); got != want {
				text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: difflib.SplitLines(want), B: difflib.SplitLines(got)})
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

func asJSON(t *testing.T, objects []any) string {
	t.Helper()
	return string(try(json.MarshalIndent(objects, "", " "))(t))
}

// checkNames checks that the Deployment and the Service have the same name. The name must be valid for a Service.
func checkNames(t *testing.T, objects []any) {
	t.Helper()
	service := the[corev1.Service](t, objects)
	if problems := validation.IsDNS1035Label(service.Name); len(problems) > 0 {
		t.Errorf("invalid Service name %q: %v", service.Name, problems)
	}
	if deployment := the[appsv1.Deployment](t, objects); deployment.Name != service.Name {
		t.Errorf("the Service is named %s, but the Deployment %s", service.Name, deployment.Name)
	}
}

// The chart must render a valid Service name for each release name that Helm accepts.
func TestNameOfTheRelease(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]string{
		"kubeflap": "kubeflap", "a": "a-kubeflap", "my-kubeflap": "my-kubeflap", "a.b": "a-b-kubeflap", "2024": "kubeflap-2024-kubeflap",
		"1.kubeflap": "kubeflap-1-kubeflap", "a-name-with-as-many-letters-as-helm-lets-a-release-have": "",
	} {
		objects := renderAs(t, release[:min(len(release), 53)], "monitoring", "{}")
		checkNames(t, objects)
		set := the[appsv1.StatefulSet](t, renderAs(t, release[:min(len(release), 53)], "monitoring", "persistence: {enabled: true}"))
		if revision := set.Name + "-5d9c7b6f8d"; len(validation.IsValidLabelValue(revision)) > 0 {
			t.Errorf("the pods of the StatefulSet %s cannot have its revision as a label", set.Name)
		}
		if got := the[appsv1.Deployment](t, objects).Name; want != "" && got != want {
			t.Errorf("release %s: got %s, want %s", release, got, want)
		}
	}
}

// Two tenants may choose the same release name. So objects outside of the release's namespace must have different names
// in the two releases.
func TestTwoReleasesDoNotCollide(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"{}", "{scope: {namespace: shop}}", "{scope: {namespace: shop, nodes: true}}"} {
		first, second := places(renderAs(t, "kubeflap", "team-a", input)), places(renderAs(t, "kubeflap", "team-b", input))
		for place := range first {
			if second[place] {
				t.Errorf("%s: both releases create %s", input, place)
			}
		}
	}
}

// places returns the kind, namespace and name of each object.
func places(objects []any) map[string]bool {
	found := map[string]bool{}
	for _, object := range objects {
		meta := object.(metav1.Object)
		found[reflect.TypeOf(object).Elem().Name()+" "+meta.GetNamespace()+"/"+meta.GetName()] = true
	}
	return found
}
