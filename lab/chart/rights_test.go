package chart

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// granted returns the rules of all Roles by namespace, and those of ClusterRoles under "". It checks that each role is
// bound to the ServiceAccount of the pods.
func granted(t *testing.T, objects []any) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rules, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	service := the[corev1.Service](t, objects)
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: pod(t, objects).ServiceAccountName, Namespace: service.Namespace}}
	bind := func(namespace, kind string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: service.Namespace + ":" + service.Name}); ref != want || !reflect.DeepEqual(subjects, account) {
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

// Regardless of the values, kubeflap must only have permission to read resources. Without a scope, the ClusterRole has
// all permissions, and the chart creates no object outside of the release's namespace: some platforms refuse Roles in
// kube-system.
func TestRightsOnlyRead(t *testing.T) {
	t.Parallel()
	watched := []string{"list", "watch"}
	verbs := map[string][]string{
		"/nodes": watched, "/pods": watched, "/services": watched, "/endpoints": watched, "discovery.k8s.io/endpointslices": watched,
		"apps/deployments": watched, "apps/statefulsets": watched, "coordination.k8s.io/leases": {"get", "list", "watch"}, "/namespaces": {"get"},
	}
	some := 0
	for name, input := range valuesFiles(t) {
		objects := render(t, input)
		for namespace, rules := range granted(t, objects) {
			if scoped := strings.Contains(input, "\nscope:"); namespace != "" && !scoped {
				t.Errorf("%s: a Role in %s", name, namespace)
			}
			for _, rule := range rules {
				some++
				if slices.Contains(rule.Resources, "namespaces") {
					if !slices.Equal(rule.ResourceNames, []string{"kube-system"}) {
						t.Errorf("%s: permission for all namespaces", name)
					}
					rule.ResourceNames = nil
				}
				for _, resource := range rule.Resources {
					want := verbs[rule.APIGroups[0]+"/"+resource]
					if !slices.Equal(rule.Verbs, want) || len(rule.APIGroups) != 1 || len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
						t.Errorf("%s: unexpected permission in %q for %s: %v, want %q", name, namespace, resource, rule, want)
					}
				}
			}
		}
	}
	if some == 0 {
		t.Error("no rules in the files")
	}
}
