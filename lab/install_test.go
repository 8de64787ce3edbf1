package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	namespace = "monitoring"
	// tenant is a namespace whose admin has no permissions elsewhere.
	tenant = "shop"
)

// TestChartInstalls installs the chart without values. It runs kubeflap with the chart's flags and permissions. Then it
// changes every value, rolls back and uninstalls the release; nothing must remain. It does the same for one namespace, as
// a user who is only admin there. It applies and deletes the plain manifests. The cluster has no scheduler and runs no
// containers, so kubeflap runs as a process outside of it.
func TestChartInstalls(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	t.Parallel()
	kubeflap := buildKubeflap(t)
	for _, release := range releases(t) {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, kubeflap, cluster.Options{Release: release, Nodes: 1})
			d.run(d.installs)
		})
	}
}

func (d *desk) installs() {
	d.helm(namespace, "install", "kubeflap", "../charts/kubeflap", "--create-namespace")
	d.checkSeen(namespace, "nodes", "leases", "pods", "services", "endpointslices", "endpoints")

	d.admin()
	d.helm(tenant, "install", "kubeflap", "../charts/kubeflap", "--set", "scope.namespace="+tenant, "--kube-as-user", "tenant")
	counts := d.checkSeen(tenant, "pods", "services", "endpointslices", "endpoints")
	for _, resource := range []string{"nodes", "leases"} {
		if _, watched := counts[truth.Series("kubeflap_watch_working", "resource", resource)]; watched {
			d.t.Errorf("kubeflap expects to watch %s, although it only has permissions in one namespace", resource)
		}
	}
	d.helm(tenant, "uninstall", "kubeflap", "--kube-as-user", "tenant")

	// Clear the namespaceOverride of the values file: that namespace does not exist here.
	d.helm(namespace, "upgrade", "kubeflap", "../charts/kubeflap", "--values", "../charts/kubeflap/ci/everything-values.yaml",
		"--set", "namespaceOverride=")
	d.helm(namespace, "rollback", "kubeflap", "1")
	d.helm(namespace, "uninstall", "kubeflap")
	d.checkNothingLeft()

	d.helm(namespace, "install", "kubeflap", "../charts/kubeflap")
	d.helm(namespace, "uninstall", "kubeflap")
	d.checkNothingLeft()

	d.checkNeedsOperator()
	for _, verb := range []string{"apply", "delete"} {
		out, err := exec.CommandContext(d.ctx, "../bin/kubectl", verb, "--kubeconfig", d.cluster.Kubeconfig, "--kustomize", "../deploy").CombinedOutput()
		if err != nil {
			d.t.Fatalf("kubectl %s: %v: %s", verb, err, out)
		}
	}
	d.checkNothingLeft()
}

// checkNeedsOperator checks that Helm refuses Prometheus Operator objects while their CRDs are missing, with the error
// that docs/troubleshooting.md quotes, and installs nothing.
func (d *desk) checkNeedsOperator() {
	out, err := exec.CommandContext(d.ctx, "../bin/helm", "install", "kubeflap", "../charts/kubeflap", "--set", "monitor.enabled=true",
		"--namespace", namespace, "--kubeconfig", d.cluster.Kubeconfig).CombinedOutput()
	said, page := `no matches for kind "ServiceMonitor"`, string(steps.Value(os.ReadFile("../docs/troubleshooting.md")))
	if err == nil || !strings.Contains(string(out), said) || !strings.Contains(page, said) {
		d.t.Errorf("without the Operator's CRDs: got error %v, want %s, as documented: %s", err, said, out)
	}
	d.checkNothingLeft()
}

// admin creates the namespace tenant, and makes the user tenant its admin.
func (d *desk) admin() {
	steps.Value(d.cluster.Client.CoreV1().Namespaces().Create(d.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{}))
	steps.Value(d.cluster.Client.RbacV1().RoleBindings(tenant).Create(d.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tenant"}},
	}, metav1.CreateOptions{}))
}

// checkSeen runs kubeflap until it is ready, with the flags and the account of the chart's pods in a namespace. It
// checks that kubeflap watches all the given resources, and returns its metrics.
func (d *desk) checkSeen(namespace string, resources ...string) truth.Counts {
	pod := steps.Value(d.cluster.Client.AppsV1().Deployments(namespace).Get(d.ctx, "kubeflap", metav1.GetOptions{})).Spec.Template.Spec
	address, probes := steps.Value(cluster.FreePort()), steps.Value(cluster.FreePort())
	here := strings.NewReplacer("--web.listen-address=:9969", "--web.listen-address="+address, "--web.probe-address=:9970", "--web.probe-address="+probes)
	args := []string{"--kubeconfig=" + steps.Value(d.cluster.AccountKubeconfig(d.ctx, namespace, pod.ServiceAccountName))}
	for i, arg := range pod.Containers[0].Args {
		args = slices.Insert(args, i, here.Replace(arg))
	}
	run := d.start(probes, args...)
	counts := steps.Value(compare.Scrape(d.ctx, "http://"+address+"/metrics"))
	for _, resource := range resources {
		if counts[truth.Series("kubeflap_watch_working", "resource", resource)] != 1 {
			d.t.Errorf("in %s, the chart's permissions do not allow kubeflap to see %s:\n%s", namespace, resource, run.LogTail())
		}
	}
	return counts
}

// checkNothingLeft checks that no object of any kind remains from the chart's release or from Helm. The garbage
// collector removes the objects that the controllers created for the Deployment and the Service.
func (d *desk) checkNothingLeft() {
	client := steps.Value(metadata.NewForConfig(d.cluster.Config))
	_, lists, err := d.cluster.Client.Discovery().ServerGroupsAndResources()
	steps.Must(err)
	resources := steps.Value(discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists)))
	if len(resources) < 30 {
		d.t.Fatalf("found only %d resources", len(resources))
	}
	for resource := range resources {
		for _, labels := range []string{"app.kubernetes.io/instance=kubeflap", "owner=helm"} {
			err := poll.Until(d.ctx, time.Minute, resource.Resource+" to be gone", func(ctx context.Context) error {
				left, err := client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: labels})
				if err == nil && len(left.Items) > 0 {
					err = fmt.Errorf("%s/%s still exists", left.Items[0].Namespace, left.Items[0].Name)
				}
				return err
			})
			if err != nil {
				d.t.Error(err)
			}
		}
	}
}
