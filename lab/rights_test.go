package main

import (
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Resources that kubeflap may read: cluster-scoped, in each namespace, and in the namespaces of the node and control
// plane Leases.
var (
	ofCluster    = []string{"nodes"}
	ofNamespaces = []string{"pods", "services", "endpoints", "endpointslices.discovery.k8s.io", "deployments.apps", "statefulsets.apps"}
	leases       = []string{"leases.coordination.k8s.io"}
)

var (
	readVerbs  = []string{"get", "list", "watch"}
	watchVerbs = []string{"list", "watch"}
)

// checkOnlyReads checks the permissions of kubeflap's account in the namespace home, as the API server reports them.
// resources lists, by namespace, the resources that the account must be able to read. Other than that, it must only
// have the permissions that every account has.
func (d *desk) checkOnlyReads(home string, resources map[string][]string) {
	account, anybody := d.as(home, "kubeflap"), d.as(metav1.NamespaceSystem, "default")
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
		of := d.rulesOf(anybody, namespace)
		got := slices.DeleteFunc(d.rulesOf(account, namespace), func(rule string) bool { return slices.Contains(of, rule) })
		if !slices.Equal(got, want) {
			d.t.Errorf("in %s, the account of %s has the additional permissions %q, want %q", namespace, home, got, want)
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

// as returns a client with the permissions of a ServiceAccount.
func (d *desk) as(namespace, name string) kubernetes.Interface {
	config := steps.Value(clientcmd.BuildConfigFromFlags("", steps.Value(d.cluster.AccountKubeconfig(d.ctx, namespace, name))))
	config.QPS = -1
	return steps.Value(kubernetes.NewForConfig(config))
}

// rulesOf returns the permissions of a client in a namespace, one entry for each verb and resource or URL.
func (d *desk) rulesOf(client kubernetes.Interface, namespace string) []string {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	review = steps.Value(client.AuthorizationV1().SelfSubjectRulesReviews().Create(d.ctx, review, metav1.CreateOptions{}))
	if review.Status.Incomplete || review.Status.EvaluationError != "" {
		d.t.Errorf("the list of permissions in %s is incomplete: %s", namespace, review.Status.EvaluationError)
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
