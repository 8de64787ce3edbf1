package main

import (
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Permissions of kubeflap: those in each namespace that it watches, and those with a ClusterRole.
var (
	ofNamespaces = reading("list watch", "pods", "services", "endpoints", "endpointslices.discovery.k8s.io", "deployments.apps", "statefulsets.apps")
	// kubeflap also gets Leases directly, and the UID of the namespace kube-system identifies the cluster.
	ofCluster = slices.Concat(ofNamespaces, reading("list watch", "nodes"), reading("get list watch", "leases.coordination.k8s.io"), []string{"get namespaces kube-system"})
)

// reading returns a permission for each verb and resource.
func reading(verbs string, resources ...string) (all []string) {
	for _, resource := range resources {
		for verb := range strings.SplitSeq(verbs, " ") {
			all = append(all, verb+" "+resource)
		}
	}
	return all
}

// checkOnlyReads checks the permissions of kubeflap's account in the namespace home, as the API server reports them.
// permissions lists, by namespace, those that the account must have, beside those that every account has.
func (d *desk) checkOnlyReads(home string, permissions map[string][]string) {
	account, anybody := d.as(home, "kubeflap"), d.as(metav1.NamespaceSystem, "default")
	for namespace, all := range permissions {
		want := slices.Sorted(slices.Values(all))
		of := d.rulesOf(anybody, namespace)
		got := slices.DeleteFunc(d.rulesOf(account, namespace), func(rule string) bool { return slices.Contains(of, rule) })
		if !slices.Equal(got, want) {
			d.t.Errorf("in %s, the account of %s has the additional permissions %q, want %q", namespace, home, got, want)
		}
	}
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
					// The names make a rule for some objects differ from one for all.
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
