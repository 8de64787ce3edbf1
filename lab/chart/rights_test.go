package chart

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// For resources that kubeflap watches, it does not need the verb get.
var (
	read    = []string{"get", "list", "watch"}
	watched = []string{"list", "watch"}
)

// granted returns the rules of all Roles by namespace, and those of ClusterRoles under "". It checks that each role is
// bound to the ServiceAccount of the pods.
func granted(t *testing.T, objects []any) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rules, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	pods := the[appsv1.Deployment](t, objects)
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: pods.Spec.Template.Spec.ServiceAccountName, Namespace: pods.Namespace}}
	bind := func(namespace, kind string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: pods.Namespace + ":" + pods.Name}); ref != want || !reflect.DeepEqual(subjects, account) {
			t.Errorf("namespace %q: %v is bound to %v, but the pods run as %v", namespace, ref, subjects, account)
		}
		bound[namespace] = true
	}
	for _, r := range all[rbacv1.ClusterRole](objects) {
		rules[""] = append(rules[""], r.Rules...)
	}
	for _, r := range all[rbacv1.Role](objects) {
		rules[r.Namespace] = append(rules[r.Namespace], r.Rules...)
	}
	for _, b := range all[rbacv1.ClusterRoleBinding](objects) {
		bind("", "ClusterRole", b.RoleRef, b.Subjects)
	}
	for _, b := range all[rbacv1.RoleBinding](objects) {
		bind(b.Namespace, "Role", b.RoleRef, b.Subjects)
	}
	for namespace := range rules {
		if !bound[namespace] {
			t.Errorf("no binding for the role in %q", namespace)
		}
	}
	return rules
}

// Regardless of the values, kubeflap must only have permission to read resources.
func TestRightsOnlyRead(t *testing.T) {
	t.Parallel()
	known := []string{"/nodes", "/pods", "/services", "/endpoints", "/namespaces", "discovery.k8s.io/endpointslices", "coordination.k8s.io/leases", "apps/deployments", "apps/statefulsets"}
	some := 0
	for name, input := range valuesFiles(t) {
		for namespace, rules := range granted(t, render(t, input)) {
			for _, rule := range rules {
				some++
				want := watched
				switch {
				case namespace == "kube-node-lease":
					want = read
				case slices.Contains(rule.Resources, "namespaces"):
					if !reflect.DeepEqual(rule.ResourceNames, []string{"kube-system"}) {
						t.Errorf("%s: permission for all namespaces", name)
					}
					want, rule.ResourceNames = []string{"get"}, nil
				}
				if !slices.Equal(rule.Verbs, want) || len(rule.APIGroups) != 1 || len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
					t.Errorf("%s: unexpected permission in %q: %v", name, namespace, rule)
				}
				for _, resource := range rule.Resources {
					if !slices.Contains(known, rule.APIGroups[0]+"/"+resource) {
						t.Errorf("%s: unexpected permission in %q for %s in %q", name, namespace, resource, rule.APIGroups)
					}
				}
			}
		}
	}
	if some == 0 {
		t.Error("no rules in the files")
	}
}

// The alert rules must not depend on the scope. A Prometheus may load the rules of one release, and scrape other
// releases with different scopes.
func TestRulesDoNotDependOnTheScope(t *testing.T) {
	t.Parallel()
	const on = "prometheusRule: {enabled: true}"
	want := rules(t, "{"+on+"}")
	for _, scope := range []string{"{namespace: shop}", "{namespace: shop, nodes: true}"} {
		if got := rules(t, "{"+on+", scope: "+scope+"}"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s changes the rules", scope)
		}
	}
}
