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

// Of what is only watched no object is read alone.
var (
	read    = []string{"get", "list", "watch"}
	watched = []string{"list", "watch"}
)

// granted are the rules of all roles, by the namespace that they are for; empty is the cluster. Each role is bound, in its
// namespace, to the account that the pods run as.
func granted(t *testing.T, objects []any) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rules, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	pods := the[appsv1.Deployment](t, objects)
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: pods.Spec.Template.Spec.ServiceAccountName, Namespace: pods.Namespace}}
	bind := func(namespace, kind string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: pods.Namespace + ":" + pods.Name}); ref != want || !reflect.DeepEqual(subjects, account) {
			t.Errorf("in %q %v is bound to %v, the pods run as %v", namespace, ref, subjects, account)
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
			t.Errorf("the role in %q is bound to nobody", namespace)
		}
	}
	return rules
}

// kubeflap has the rights that its scope needs, and no more.
func TestRights(t *testing.T) {
	t.Parallel()
	rule := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: watched}
	}
	leases, endpointSlices := rule("coordination.k8s.io", "leases"), rule("discovery.k8s.io", "endpointslices")
	heartbeats := leases
	heartbeats.Verbs = read
	whole := []rbacv1.PolicyRule{rule("", "nodes", "pods", "services", "endpoints"), endpointSlices}
	shop := []rbacv1.PolicyRule{rule("", "pods", "services", "endpoints"), endpointSlices}
	for input, c := range map[string]struct {
		flag string
		want map[string][]rbacv1.PolicyRule
	}{
		"{}":                                  {"", map[string][]rbacv1.PolicyRule{"": whole, "kube-node-lease": {heartbeats}, "kube-system": {leases}}},
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
				t.Errorf("its rights are %v, want %v", got, c.want)
			}
			if flag := scopeFlag(pod(t, objects).Containers[0].Args); flag != c.flag {
				t.Errorf("kubeflap is told %q, want %q", flag, c.flag)
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

// Whatever is asked for, kubeflap only reads, and only what it watches.
func TestRightsOnlyRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"/nodes", "/pods", "/services", "/endpoints", "discovery.k8s.io/endpointslices", "coordination.k8s.io/leases"}
	some := 0
	for _, file := range files {
		for namespace, rules := range granted(t, render(t, values(t, file))) {
			for _, rule := range rules {
				some++
				want := watched
				if namespace == "kube-node-lease" {
					want = read
				}
				if !slices.Equal(rule.Verbs, want) || len(rule.APIGroups) != 1 || len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
					t.Errorf("%s: in %q it may %v", filepath.Base(file), namespace, rule)
				}
				for _, resource := range rule.Resources {
					if !slices.Contains(known, rule.APIGroups[0]+"/"+resource) {
						t.Errorf("%s: in %q it may see %s of %q", filepath.Base(file), namespace, resource, rule.APIGroups)
					}
				}
			}
		}
	}
	if some == 0 {
		t.Errorf("no rule in %d files", len(files))
	}
}

// The rules know by themselves what a kubeflap of one namespace is not meant to see: one Prometheus has the rules once, and several
// releases of any scope.
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

// The notes say what is not seen.
func TestNotesTellTheScope(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"{scope: {namespace: shop}}":                        "It sees the namespace shop only, and no nodes: no heartbeats",
		"{scope: {namespace: shop, nodes: true}}":           "It sees the namespace shop only, and the nodes.\n",
		"{scope: {namespace: shop}, rbac: {create: false}}": "on pods, services, endpoints and endpointslices of shop.\n",
		"{rbac: {create: false}}":                           "needs list and watch on nodes, pods, services, endpoints and endpointslices,\nand get, list and watch on leases in kube-node-lease.\nList and watch on leases in kube-system is optional",
	} {
		if notes := notes(t, input); !strings.Contains(notes, want) {
			t.Errorf("%s: the notes lack %q:\n%s", input, want, notes)
		}
	}
	if notes := notes(t, "{}"); strings.Contains(notes, "It sees") {
		t.Errorf("the notes of the whole cluster:\n%s", notes)
	}
}
