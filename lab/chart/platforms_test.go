package chart

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// umbrella renders the chart as a dependency of another chart, with values of the other chart. Helm then does not remove
// defaults that are set to null.
func umbrella(t *testing.T, values string) []any {
	t.Helper()
	parent := filepath.Join(t.TempDir(), "platform")
	if err := os.CopyFS(filepath.Join(parent, "charts/kubeflap"), os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	about := "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n  - {name: kubeflap, version: '>=0.0.0-0', repository: '', condition: kubeflap.enabled}\n"
	for name, text := range map[string]string{"Chart.yaml": about, "values.yaml": "kubeflap:\n  " + strings.ReplaceAll(values, "\n", "\n  ")} {
		if err := os.WriteFile(filepath.Join(parent, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := helm("", "template", "platform", parent, "--namespace", "platform")
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, text)
}

// OpenShift chooses the user and the groups, and refuses pods that set others. So the chart must not set them, neither
// by itself nor in an umbrella chart.
func TestOpenShift(t *testing.T) {
	t.Parallel()
	file := values(t, source+"/ci/openshift-values.yaml")
	for name, objects := range map[string][]any{
		"defaults": render(t, "{}"), "umbrella": umbrella(t, "enabled: true\n"), "values file": render(t, file), "no group": render(t, "persistence: {enabled: true, fsGroup: null}"), "umbrella with the file": umbrella(t, file),
	} {
		spec := pod(t, objects)
		if p := spec.SecurityContext; p.RunAsUser != nil || p.RunAsGroup != nil || p.FSGroup != nil || !*p.RunAsNonRoot {
			t.Errorf("%s: the pod sets the security context %+v", name, p)
		}
		if c := spec.Containers[0].SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil {
			t.Errorf("%s: the container sets the security context %+v", name, c)
		}
	}
	if objects := umbrella(t, "enabled: false\n"); len(objects) != 0 {
		t.Errorf("the condition leaves %d objects", len(objects))
	}
}

// With persistence, each replica must have its own claim, which it can write to. Otherwise, the pods belong to a
// Deployment.
func TestHistoryOfTwoReplicas(t *testing.T) {
	t.Parallel()
	objects := render(t, "persistence: {enabled: true, storageClass: fast}")
	set := the[appsv1.StatefulSet](t, objects)
	claims := set.Spec.VolumeClaimTemplates
	if len(all[appsv1.Deployment](objects)) != 0 || *set.Spec.Replicas != 2 || len(claims) != 1 {
		t.Fatalf("unexpected StatefulSet %+v, or a Deployment", set.Spec)
	}
	mount := set.Spec.Template.Spec.Containers[0].VolumeMounts[0]
	if claim := claims[0]; claim.Name != mount.Name || mount.MountPath != "/data" || *claim.Spec.StorageClassName != "fast" || claim.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		t.Errorf("unexpected claim %+v, mounted as %+v", claim, mount)
	}
	if service := the[corev1.Service](t, objects); set.Spec.ServiceName != service.Name || len(set.Spec.Template.Spec.Volumes) != 0 {
		t.Errorf("the StatefulSet belongs to the Service %s, and has volumes %+v", set.Spec.ServiceName, set.Spec.Template.Spec.Volumes)
	}
	if group := set.Spec.Template.Spec.SecurityContext.FSGroup; group == nil || *group != 65534 {
		t.Errorf("the volume belongs to group %v, but the image runs as 65534", group)
	}
	for input, volume := range map[string]string{
		"{}": "emptyDir", "data: {enabled: false}": "", "{replicas: 1, persistence: {enabled: true, existingClaim: ours}}": "ours",
	} {
		objects := render(t, input)
		the[appsv1.Deployment](t, objects)
		got := ""
		for _, v := range pod(t, objects).Volumes {
			if v.EmptyDir != nil {
				got = "emptyDir"
			} else {
				got = v.PersistentVolumeClaim.ClaimName
			}
		}
		if got != volume {
			t.Errorf("%s: the volume is %q, want %q", input, got, volume)
		}
	}
}

// allowed says whether a policy lets a connection pass to a port at an address.
func allowed(rules []networkingv1.NetworkPolicyEgressRule, address string, port int) bool {
	for _, rule := range rules {
		to, ports := len(rule.To) == 0, len(rule.Ports) == 0
		for _, peer := range rule.To {
			to = to || peer.IPBlock != nil && netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(netip.MustParseAddr(address))
		}
		for _, p := range rule.Ports {
			ports = ports || *p.Protocol == corev1.ProtocolTCP && p.Port.IntValue() == port
		}
		if to && ports {
			return true
		}
	}
	return false
}

// The policy must restrict both directions as soon as it is enabled. It must let kubeflap reach the API server by the
// address of its Service and by its own, because CNI plugins differ in which of them they compare.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{"defaults": "networkPolicy: {enabled: true}", "airgapped": values(t, source+"/ci/airgapped-values.yaml")} {
		policy := the[networkingv1.NetworkPolicy](t, render(t, input)).Spec
		if len(policy.PolicyTypes) != 2 {
			t.Errorf("%s: the policy restricts only %q", name, policy.PolicyTypes)
		}
		for place, want := range map[string]bool{"10.96.0.1 443": true, "192.0.2.7 6443": true, "192.0.2.7 80": false, "10.96.0.1 8080": false} {
			var address string
			var port int
			if _, err := fmt.Sscan(place, &address, &port); err != nil {
				t.Fatal(err)
			}
			if got := allowed(policy.Egress, address, port); got != want {
				t.Errorf("%s: egress to %s is allowed: %t, want %t", name, place, got, want)
			}
		}
		for _, rule := range policy.Ingress {
			if port := rule.Ports[0].Port.StrVal; (len(rule.From) == 0) != (port == "probes") {
				t.Errorf("%s: the port %s is open to %+v", name, port, rule.From)
			}
		}
	}
	open := the[networkingv1.NetworkPolicy](t, render(t, "networkPolicy: {enabled: true}")).Spec.Ingress[0].From
	if len(open) != 1 || open[0].NamespaceSelector != nil || open[0].PodSelector == nil {
		t.Errorf("by default, metrics are open to %+v, want only the pods of the same namespace", open)
	}
}

// The chart must refuse Kubernetes versions that are not supported.
func TestKubernetesVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.30.14": "incompatible with Kubernetes", "1.31.0": "", "1.31.0-eks-1": "", "1.37.2-gke.100": ""} {
		_, err := helm("", "template", "kubeflap", chart, "--kube-version", version)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", version, err, want)
		}
	}
}

// A value must replace a default of the chart, even if it is empty: a route of a mesh belongs to a Service, whose group is empty.
func TestValuesReplaceDefaults(t *testing.T) {
	t.Parallel()
	objects := render(t, `
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: []}]
httpRoute: {enabled: true, parentRefs: [{group: "", kind: Service, name: web}, {name: gate}]}
monitor: {enabled: true, endpoint: {honorLabels: false}}`)
	if spread := pod(t, objects).TopologySpreadConstraints[0]; len(spread.MatchLabelKeys) > 0 || spread.LabelSelector == nil {
		t.Errorf("unexpected constraint %+v", spread)
	}
	if group := pod(t, render(t, "{persistence: {enabled: true}, podSecurityContext: {fsGroup: 2000}}")).SecurityContext.FSGroup; *group != 2000 {
		t.Errorf("the group of the files is %d, want that of the security context", *group)
	}
	parents := the[gatewayv1.HTTPRoute](t, objects).Spec.ParentRefs
	if *parents[0].Group != "" || *parents[0].Kind != "Service" || *parents[1].Group != gatewayv1.GroupName || *parents[1].Kind != "Gateway" {
		t.Errorf("unexpected parents %+v", parents)
	}
	if endpoint := the[monitoringv1.ServiceMonitor](t, objects).Spec.Endpoints[0]; endpoint.HonorLabels {
		t.Errorf("unexpected endpoint %+v", endpoint)
	}
}
