package chart

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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

// kubeflap must have exactly the permissions that it needs for its scope.
func TestRights(t *testing.T) {
	t.Parallel()
	rule := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: watched}
	}
	leases, endpointSlices := rule("coordination.k8s.io", "leases"), rule("discovery.k8s.io", "endpointslices")
	heartbeats := leases
	heartbeats.Verbs = read
	identity := rule("", "namespaces")
	identity.ResourceNames, identity.Verbs = []string{"kube-system"}, []string{"get"}
	whole := []rbacv1.PolicyRule{rule("", "nodes", "pods", "services", "endpoints"), endpointSlices}
	shop := []rbacv1.PolicyRule{rule("", "pods", "services", "endpoints"), endpointSlices}
	for input, c := range map[string]struct {
		flag string
		want map[string][]rbacv1.PolicyRule
	}{
		"{}":                                  {"", map[string][]rbacv1.PolicyRule{"": whole, "kube-node-lease": {heartbeats}, "kube-system": {leases, identity}}},
		"{rbac: {controlPlaneLeases: false}}": {"", map[string][]rbacv1.PolicyRule{"": whole, "kube-node-lease": {heartbeats}}},
		"{scope: {namespace: shop}}":          {"--namespace=shop", map[string][]rbacv1.PolicyRule{"shop": shop}},
		"{scope: {namespace: shop, nodes: true}}": {
			"--namespace=shop", map[string][]rbacv1.PolicyRule{"": {rule("", "nodes")}, "kube-node-lease": {heartbeats}, "shop": shop},
		},
		"{scope: {namespace: kube-system}}":                 {"--namespace=kube-system", map[string][]rbacv1.PolicyRule{"kube-system": shop}},
		"{rbac: {create: false}}":                           {"", map[string][]rbacv1.PolicyRule{}},
		"{rbac: {create: false}, scope: {namespace: shop}}": {"--namespace=shop", map[string][]rbacv1.PolicyRule{}},
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			objects := render(t, input)
			if got := granted(t, objects); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got permissions %v, want %v", got, c.want)
			}
			if flag := scopeFlag(pod(t, objects).Containers[0].Args); flag != c.flag {
				t.Errorf("got argument %q, want %q", flag, c.flag)
			}
		})
	}
}

func scopeFlag(args []string) string {
	for _, arg := range args {
		if strings.HasPrefix(arg, "--namespace") {
			return arg
		}
	}
	return ""
}

// Regardless of the values, kubeflap must only have permission to read resources.
func TestRightsOnlyRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"/nodes", "/pods", "/services", "/endpoints", "/namespaces", "discovery.k8s.io/endpointslices", "coordination.k8s.io/leases"}
	some := 0
	for _, file := range files {
		for namespace, rules := range granted(t, render(t, values(t, file))) {
			for _, rule := range rules {
				some++
				want := watched
				switch {
				case namespace == "kube-node-lease":
					want = read
				case slices.Contains(rule.Resources, "namespaces"):
					if !reflect.DeepEqual(rule.ResourceNames, []string{"kube-system"}) {
						t.Errorf("%s: permission for all namespaces", filepath.Base(file))
					}
					want, rule.ResourceNames = []string{"get"}, nil
				}
				if !slices.Equal(rule.Verbs, want) || len(rule.APIGroups) != 1 || len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
					t.Errorf("%s: unexpected permission in %q: %v", filepath.Base(file), namespace, rule)
				}
				for _, resource := range rule.Resources {
					if !slices.Contains(known, rule.APIGroups[0]+"/"+resource) {
						t.Errorf("%s: unexpected permission in %q for %s in %q", filepath.Base(file), namespace, resource, rule.APIGroups)
					}
				}
			}
		}
	}
	if some == 0 {
		t.Errorf("no rules in %d files", len(files))
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

// The notes must say which objects kubeflap cannot see.
func TestNotesTellTheScope(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"{scope: {namespace: shop}}":                        "kubeflap only sees the namespace shop, and no nodes. It cannot see heartbeats",
		"{scope: {namespace: shop, nodes: true}}":           "kubeflap only sees the namespace shop and the nodes.\n",
		"{scope: {namespace: shop}, rbac: {create: false}}": "on pods, services, endpoints and endpointslices of shop.\n",
		"{rbac: {create: false}}":                           "needs list and watch on nodes, pods, services, endpoints and endpointslices,\nand get, list and watch on leases in kube-node-lease.\nList and watch on leases in kube-system are optional",
	} {
		if notes := notes(t, input); !strings.Contains(notes, want) {
			t.Errorf("%s: the notes do not contain %q:\n%s", input, want, notes)
		}
	}
	if notes := notes(t, "{}"); strings.Contains(notes, "only sees") {
		t.Errorf("unexpected notes for the whole cluster:\n%s", notes)
	}
}
