package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const (
	namespace = "monitoring"
	// tenant is a namespace whose admin has no permissions elsewhere.
	tenant = "shop"
)

// TestChartInstalls installs the chart without values. It runs kubeflap with the chart's flags and permissions, and asks
// the API server for the account's permissions. Then it changes every value, rolls back and uninstalls the release;
// nothing must remain. It does the same for one namespace, as a user who is only admin there. It applies and deletes
// the plain manifests. The cluster has no scheduler and runs no containers, so kubeflap runs as a process outside of it.
func TestChartInstalls(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	t.Parallel()
	kubeflap := buildKubeflap(t)
	for _, release := range releases(t) {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			installs(t, kubeflap, release)
		})
	}
}

func installs(t *testing.T, kubeflap string, release cluster.Release) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	c, err := cluster.Start(ctx, cluster.Options{Release: release, Nodes: 1, Log: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)

	runHelm(ctx, t, c, namespace, "install", "kubeflap", "../charts/kubeflap", "--create-namespace")
	seen(ctx, t, c, kubeflap, namespace, "nodes", "leases", "pods", "services", "endpointslices", "endpoints")
	onlyReads(ctx, t, c, namespace, map[string][]string{
		metav1.NamespaceDefault: slices.Concat(ofCluster, ofNamespaces), corev1.NamespaceNodeLease: slices.Concat(ofCluster, ofNamespaces, leases),
		metav1.NamespaceSystem: slices.Concat(ofCluster, ofNamespaces, leases),
	})

	admin(ctx, t, c)
	runHelm(ctx, t, c, tenant, "install", "kubeflap", "../charts/kubeflap", "--set", "scope.namespace="+tenant, "--kube-as-user", "tenant")
	counts := seen(ctx, t, c, kubeflap, tenant, "pods", "services", "endpointslices", "endpoints")
	for _, resource := range []string{"nodes", "leases"} {
		if counts[truth.Series("kubeflap_watch_unavailable", "resource", resource, "reason", "forbidden")] != 1 {
			t.Errorf("kubeflap does not log that %s are forbidden, although it only has permissions in one namespace", resource)
		}
	}
	onlyReads(ctx, t, c, tenant, map[string][]string{metav1.NamespaceDefault: nil, corev1.NamespaceNodeLease: nil, metav1.NamespaceSystem: nil, tenant: ofNamespaces})
	runHelm(ctx, t, c, tenant, "uninstall", "kubeflap", "--kube-as-user", "tenant")

	// Clear the namespaceOverride of the values file: that namespace does not exist here.
	runHelm(ctx, t, c, namespace, "upgrade", "kubeflap", "../charts/kubeflap", "--values", "../charts/kubeflap/ci/everything-values.yaml",
		"--set", "namespaceOverride=,dashboards.enabled=true")
	runHelm(ctx, t, c, namespace, "rollback", "kubeflap", "1")
	runHelm(ctx, t, c, namespace, "uninstall", "kubeflap")
	leavesNothing(ctx, t, c)

	runHelm(ctx, t, c, namespace, "install", "kubeflap", "../charts/kubeflap")
	runHelm(ctx, t, c, namespace, "uninstall", "kubeflap")
	leavesNothing(ctx, t, c)

	needsOperator(ctx, t, c)
	for _, verb := range []string{"apply", "delete"} {
		out, err := exec.CommandContext(ctx, "../bin/kubectl", verb, "--kubeconfig", c.Kubeconfig, "--filename", "../deploy/kubeflap.yaml").CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v: %s", verb, err, out)
		}
	}
	leavesNothing(ctx, t, c)
}

// needsOperator checks that Helm refuses Prometheus Operator objects while their CRDs are missing, with the error that
// docs/troubleshooting.md quotes, and installs nothing.
func needsOperator(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, "../bin/helm", "install", "kubeflap", "../charts/kubeflap", "--set", "serviceMonitor.enabled=true",
		"--namespace", namespace, "--kubeconfig", c.Kubeconfig).CombinedOutput()
	if said := `no matches for kind "ServiceMonitor"`; err == nil || !strings.Contains(string(out), said) || !strings.Contains(string(page), said) {
		t.Errorf("without the Operator's CRDs: got error %v, want %s, as documented: %s", err, said, out)
	}
	leavesNothing(ctx, t, c)
}

// admin creates the namespace tenant, and makes the user tenant its admin.
func admin(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	_, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tenant"}},
	}
	if _, err := c.Client.RbacV1().RoleBindings(tenant).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func runHelm(ctx context.Context, t *testing.T, c *cluster.Cluster, namespace string, args ...string) (out []byte) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "../bin/helm", append(args, "--namespace", namespace, "--kubeconfig", c.Kubeconfig)...)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", args[0], err, out, errOut.String())
	}
	return out
}

// seen runs kubeflap until it is ready, with the flags and the account of the chart's pods in a namespace. It checks
// that kubeflap watches all the given resources, and returns its metrics.
func seen(ctx context.Context, t *testing.T, c *cluster.Cluster, kubeflap, namespace string, resources ...string) truth.Counts {
	t.Helper()
	deployment, err := c.Client.AppsV1().Deployments(namespace).Get(ctx, "kubeflap", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address, err1 := cluster.FreePort()
	probes, err2 := cluster.FreePort()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	kubeconfig, err := c.AccountKubeconfig(ctx, namespace, pod.ServiceAccountName)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("--web.listen-address=:9969", "--web.listen-address="+address, "--web.probe-address=:9970", "--web.probe-address="+probes)
	var args []string
	for _, arg := range pod.Containers[0].Args {
		args = append(args, here.Replace(arg))
	}
	args = append(args, "--kubeconfig="+kubeconfig)
	run, err := cluster.StartProcess("kubeflap", filepath.Join(t.TempDir(), "kubeflap.log"), cluster.Command{Path: kubeflap, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Stop)
	ready := func(ctx context.Context) error { return compare.Ready(ctx, "http://"+probes) }
	if err := run.Until(ctx, 3*time.Minute, "kubeflap to be ready", ready); err != nil {
		t.Fatalf("%v\n%s", err, run.LogTail())
	}
	counts, err := compare.Scrape(ctx, "http://"+address+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range resources {
		if counts[truth.Series("kubeflap_watch_synced", "resource", resource)] != 1 {
			t.Errorf("in %s, the chart's permissions do not allow kubeflap to see %s:\n%s", namespace, resource, run.LogTail())
		}
	}
	return counts
}

// leavesNothing checks that no object of any kind remains from the chart's release or from Helm. The garbage collector
// removes the objects that the controllers created for the Deployment and the Service.
func leavesNothing(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	resources, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists))
	if err != nil || len(resources) < 30 {
		t.Fatalf("found only %d resources: %v", len(resources), err)
	}
	for resource := range resources {
		for _, labels := range []string{"app.kubernetes.io/instance=kubeflap", "owner=helm"} {
			gone := func(ctx context.Context) error {
				left, err := client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: labels})
				if err == nil && len(left.Items) > 0 {
					err = fmt.Errorf("%s/%s still exists", left.Items[0].Namespace, left.Items[0].Name)
				}
				return err
			}
			if err := poll.Until(ctx, time.Minute, resource.Resource+" to be gone", gone); err != nil {
				t.Error(err)
			}
		}
	}
}
