package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Resources that kubeflap may read: cluster-scoped, in each namespace, and in the namespaces of the node and control
// plane Leases.
var (
	ofCluster    = []string{"nodes"}
	ofNamespaces = []string{"pods", "services", "endpoints", "endpointslices.discovery.k8s.io"}
	leases       = []string{"leases.coordination.k8s.io"}
)

var (
	readVerbs  = []string{"get", "list", "watch"}
	watchVerbs = []string{"list", "watch"}
	writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
)

// beyond lists resources that a read-only account must not access with any verb.
var beyond = []string{
	"secrets", "configmaps", "serviceaccounts", "serviceaccounts/token", "namespaces", "events", "persistentvolumes",
	"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/log", "pods/eviction", "pods/binding", "pods/ephemeralcontainers", "pods/status",
	"nodes/proxy", "nodes/status", "nodes/metrics", "services/proxy", "services/status",
	"deployments.apps", "daemonsets.apps", "jobs.batch", "networkpolicies.networking.k8s.io",
	"roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
	"certificatesigningrequests.certificates.k8s.io", "validatingwebhookconfigurations.admissionregistration.k8s.io",
	"customresourcedefinitions.apiextensions.k8s.io", "*", "*.*",
}

// powers lists verbs beyond reading and writing, and wildcards, each with a resource.
var powers = [][2]string{
	{"impersonate", "users"},
	{"impersonate", "groups"},
	{"impersonate", "serviceaccounts"},
	{"escalate", "clusterroles.rbac.authorization.k8s.io"},
	{"bind", "clusterroles.rbac.authorization.k8s.io"},
	{"approve", "signers.certificates.k8s.io"},
	{"*", "pods"},
	{"*", "*.*"},
}

// onlyReads checks the permissions of kubeflap's account in the namespace home, as the API server reports them.
// resources lists, by namespace, the resources that the account must be able to read. Other than that, it must only
// have the permissions that every account has.
func onlyReads(ctx context.Context, t *testing.T, c *cluster.Cluster, home string, resources map[string][]string) {
	t.Helper()
	account, anybody := as(ctx, t, c, home, "kubeflap"), as(ctx, t, c, metav1.NamespaceSystem, "default")
	for namespace, readable := range resources {
		var want []string
		for _, resource := range readable {
			for _, verb := range verbsFor(namespace, resource) {
				want = append(want, verb+" "+resource)
			}
		}
		if namespace == metav1.NamespaceSystem && slices.Contains(readable, leases[0]) {
			want = append(want, "get namespaces kube-system") // its UID identifies the cluster
		}
		slices.Sort(want)
		of := rulesOf(ctx, t, anybody, namespace)
		got := slices.DeleteFunc(rulesOf(ctx, t, account, namespace), func(rule string) bool { return slices.Contains(of, rule) })
		if !slices.Equal(got, want) {
			t.Errorf("in %s, the account of %s has the additional permissions %q, want %q", namespace, home, got, want)
		}
		for _, resource := range slices.Concat(ofCluster, ofNamespaces, leases) {
			for _, verb := range readVerbs {
				if got, want := may(ctx, t, account, namespace, verb, resource), slices.Contains(readable, resource) && slices.Contains(verbsFor(namespace, resource), verb); got != want {
					t.Errorf("in %s, the account of %s may %s %s: got %v, want %v", namespace, home, verb, resource, got, want)
				}
			}
		}
		for _, power := range forbidden() {
			if may(ctx, t, account, namespace, power[0], power[1]) {
				t.Errorf("in %s, the account of %s may %s %s, but must not", namespace, home, power[0], power[1])
			}
		}
	}
}

// verbsFor returns the verbs that kubeflap needs for a resource. kubeflap watches all its resources, and also gets node
// Leases directly.
func verbsFor(namespace, resource string) []string {
	if namespace == corev1.NamespaceNodeLease && slices.Equal(leases, []string{resource}) {
		return readVerbs
	}
	return watchVerbs
}

// forbidden returns verbs and resources that kubeflap does not need in any scope.
func forbidden() [][2]string {
	all := slices.Clone(powers)
	for _, verb := range writeVerbs {
		for _, resource := range slices.Concat(ofCluster, ofNamespaces, leases) {
			all = append(all, [2]string{verb, resource})
		}
	}
	for _, verb := range slices.Concat(readVerbs, writeVerbs) {
		for _, resource := range beyond {
			all = append(all, [2]string{verb, resource})
		}
	}
	return all
}

// as returns a client with the permissions of a ServiceAccount.
func as(ctx context.Context, t *testing.T, c *cluster.Cluster, namespace, name string) kubernetes.Interface {
	t.Helper()
	path, err := c.AccountKubeconfig(ctx, namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// rulesOf returns the permissions of a client in a namespace, one entry for each verb and resource or URL.
func rulesOf(ctx context.Context, t *testing.T, client kubernetes.Interface, namespace string) []string {
	t.Helper()
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete || review.Status.EvaluationError != "" {
		t.Errorf("the list of permissions in %s is incomplete: %s", namespace, review.Status.EvaluationError)
	}
	var all []string
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					// kubeflap needs no rule with resource names. The names make such a rule differ from the expected
					// ones.
					all = append(all, strings.Join(append([]string{verb, strings.TrimSuffix(resource+"."+group, ".")}, rule.ResourceNames...), " "))
				}
			}
		}
	}
	for _, rule := range review.Status.NonResourceRules {
		for _, url := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				all = append(all, verb+" "+url)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// may reports whether a client has a permission. The resource has the form of a rule: resource/subresource.group.
func may(ctx context.Context, t *testing.T, client kubernetes.Interface, namespace, verb, resource string) bool {
	t.Helper()
	resource, group, _ := strings.Cut(resource, ".")
	resource, subresource, _ := strings.Cut(resource, "/")
	if resource == "nodes" {
		namespace = corev1.NamespaceAll
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		},
	}}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}
