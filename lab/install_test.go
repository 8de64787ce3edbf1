package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/truth"
)

const namespace = "monitoring"

// TestChartInstalls installs the chart with no value, runs kubeflap with the flags and the rights that it gives, changes
// every value, and removes it without a trace. The cluster has no scheduler and runs no containers: kubeflap runs beside it.
func TestChartInstalls(t *testing.T) {
	kubeflap := buildKubeflap(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	c, err := cluster.Start(ctx, cluster.Options{Nodes: 1, Log: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)

	runHelm(ctx, t, c, "install", "kubeflap", "../charts/kubeflap", "--create-namespace")
	seesAll(ctx, t, c, kubeflap)
	// All of it stays in the namespace that is asked for below.
	runHelm(ctx, t, c, "upgrade", "kubeflap", "../charts/kubeflap", "--values", "../charts/kubeflap/ci/everything-values.yaml",
		"--set", "namespaceOverride=,dashboards.enabled=true")
	runHelm(ctx, t, c, "rollback", "kubeflap", "1")
	runHelm(ctx, t, c, "uninstall", "kubeflap")
	leavesNothing(ctx, t, c)
}

func runHelm(ctx context.Context, t *testing.T, c *cluster.Cluster, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "../bin/helm", append(args, "--namespace", namespace, "--kubeconfig", c.Kubeconfig)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("helm %s: %v\n%s", args[0], err, out)
	}
}

// seesAll runs kubeflap as the chart's pods would.
func seesAll(ctx context.Context, t *testing.T, c *cluster.Cluster, kubeflap string) {
	t.Helper()
	deployment, err := c.Client.AppsV1().Deployments(namespace).Get(ctx, "kubeflap", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address, err := cluster.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	var args []string
	for _, arg := range pod.Containers[0].Args {
		args = append(args, strings.Replace(arg, "=:9969", "="+address, 1))
	}
	args = append(args, "--kubeconfig="+accountsKubeconfig(ctx, t, c, pod.ServiceAccountName))
	run, err := cluster.StartProcess("kubeflap", filepath.Join(t.TempDir(), "kubeflap.log"), cluster.Command{Path: kubeflap, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Stop)
	url := "http://" + address
	if err := run.Until(ctx, time.Minute, "kubeflap to be ready", func(ctx context.Context) error { return compare.Ready(ctx, url) }); err != nil {
		t.Fatalf("%v\n%s", err, run.LogTail())
	}
	counts, err := compare.Scrape(ctx, url+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"} {
		if counts[truth.Series("kubeflap_watch_synced", "resource", resource)] != 1 {
			t.Errorf("the chart's rights do not let it see %s:\n%s", resource, run.LogTail())
		}
	}
}

// accountsKubeconfig writes a kubeconfig with the rights of a service account.
func accountsKubeconfig(ctx context.Context, t *testing.T, c *cluster.Cluster, name string) string {
	t.Helper()
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.AuthInfos = map[string]*api.AuthInfo{config.Contexts[config.CurrentContext].AuthInfo: {Token: token.Status.Token}}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func leavesNothing(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=kubeflap"}
	apps, core, rbac := c.Client.AppsV1(), c.Client.CoreV1(), c.Client.RbacV1()
	deployments, err1 := apps.Deployments("").List(ctx, of)
	services, err2 := core.Services("").List(ctx, of)
	accounts, err3 := core.ServiceAccounts("").List(ctx, of)
	roles, err4 := rbac.Roles("").List(ctx, of)
	clusterRoles, err5 := rbac.ClusterRoles().List(ctx, of)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	left := len(deployments.Items) + len(services.Items) + len(accounts.Items) + len(roles.Items) + len(clusterRoles.Items)
	if left > 0 {
		t.Errorf("it leaves %v %v %v %v %v", deployments.Items, services.Items, accounts.Items, roles.Items, clusterRoles.Items)
	}
}
