package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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

	d.kubectl("create", "namespace", tenant)
	d.kubectl("create", "rolebinding", "admin", "--clusterrole=admin", "--user=tenant", "--namespace", tenant)
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
	d.kubectl("apply", "--kustomize", "../deploy")
	d.kubectl("delete", "--kustomize", "../deploy")
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

// checkSeen runs kubeflap until it is ready, with the flags and the account of the chart's pods in a namespace. It
// checks that kubeflap watches all the given resources, and returns its metrics.
func (d *desk) checkSeen(namespace string, resources ...string) truth.Counts {
	pod := steps.Value(d.cluster.Client.AppsV1().Deployments(namespace).Get(d.ctx, "kubeflap", metav1.GetOptions{})).Spec.Template.Spec
	address, probes := cluster.FreePort(), cluster.FreePort()
	run := d.start(probes, d.flags(namespace, &pod, address, probes)...)
	counts := compare.Scrape(d.ctx, "http://"+address+"/metrics")
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
