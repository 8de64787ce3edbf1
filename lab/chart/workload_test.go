package chart

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	autoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestImage(t *testing.T) {
	t.Parallel()
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct{ values, want string }{
		"a registry for all wins":         {"{global: {imageRegistry: r.x:5000}, image: {registry: s.x, tag: t}}", "r.x:5000/kubeflap/kubeflap:t"},
		"none, the repository has it":     {"{image: {registry: '', repository: r.x/k, tag: t}}", "r.x/k:t"},
		"the digest wins over the tag":    {"{image: {registry: r.x, repository: k, tag: t, digest: '" + digest + "'}}", "r.x/k@" + digest},
		"a registry with a path":          {"{image: {registry: r.x:5000/mirror, repository: k, tag: t}}", "r.x:5000/mirror/k:t"},
		"a tag wins over the app version": {"{image: {registry: r.x, repository: k, tag: t}}", "r.x/k:t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := container(t, c.values).Image; got != c.want {
				t.Errorf("got image %s, want %s", got, c.want)
			}
		})
	}
}

func container(t *testing.T, input string) *corev1.Container {
	t.Helper()
	return &pod(t, render(t, input)).Containers[0]
}

func pod(t *testing.T, objects []any) *corev1.PodSpec {
	t.Helper()
	return &the[appsv1.Deployment](t, objects).Spec.Template.Spec
}

// The probes must still work if webConfig requires TLS or a password.
func TestProbesAndWebConfig(t *testing.T) {
	t.Parallel()
	const tls = "tls_server_config: {cert_file: /c, key_file: /k"
	for name, web := range map[string]string{
		"plain":                  "{}",
		"TLS":                    "{content: {" + tls + "}}}",
		"password":               "{content: {basic_auth_users: {p: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}}}",
		"certificate of clients": "{content: {" + tls + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: /a}}}",
		"Secret":                 "{existingSecret: s}",
		"Secret with TLS":        "{existingSecret: s, tls: true}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := render(t, "{probePort: 7, webConfig: "+web+"}")
			c := pod(t, objects).Containers[0]
			for path, probe := range map[string]*corev1.Probe{"/-/healthy": c.LivenessProbe, "/-/ready": c.ReadinessProbe} {
				want := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")}}
				if !reflect.DeepEqual(probe.ProbeHandler, want) {
					t.Errorf("unexpected probe for %s: %+v", path, probe.ProbeHandler)
				}
			}
			if want := (corev1.ContainerPort{Name: "probes", ContainerPort: 7}); c.Ports[1] != want || !slices.Contains(c.Args, "--web.probe-address=:7") {
				t.Errorf("the probe port is %+v, but kubeflap's arguments are %v", c.Ports[1], c.Args)
			}
			checkWebFile(t, objects, web != "{}")
		})
	}
}

// checkWebFile checks that the file in --web.config.file is mounted from a Secret. If want is false, there must be no
// such flag and no such mount.
func checkWebFile(t *testing.T, objects []any, want bool) {
	t.Helper()
	c := pod(t, objects).Containers[0]
	told := slices.Contains(c.Args, "--web.config.file=/etc/kubeflap/web/web-config.yaml")
	mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/kubeflap/web" })
	if told != want || mounted != want {
		t.Errorf("web config file: flag %v, mount %v, want %v", told, mounted, want)
	}
	if !want {
		return
	}
	volume := pod(t, objects).Volumes[0].Secret.SecretName
	for _, secret := range all[corev1.Secret](objects) {
		if secret.Name != volume || secret.StringData["web-config.yaml"] == "" {
			t.Errorf("the Secret is %s, but the volume uses %s", secret.Name, volume)
		}
	}
}

func TestMonitorsFollowTLS(t *testing.T) {
	t.Parallel()
	for web, scheme := range map[string]string{
		"{}": "http", "{content: {http_server_config: {http2: false}}}": "http", "{content: {tls_server_config: {cert_file: /c, key_file: /k}}}": "https",
		"{existingSecret: s}": "http", "{existingSecret: s, tls: true}": "https",
	} {
		objects := render(t, "{podMonitor: {enabled: true}, serviceMonitor: {enabled: true}, webConfig: "+web+"}")
		s, p := the[monitoringv1.ServiceMonitor](t, objects).Spec.Endpoints[0], the[monitoringv1.PodMonitor](t, objects).Spec.PodMetricsEndpoints[0]
		if string(*s.Scheme) != scheme || string(*p.Scheme) != scheme {
			t.Errorf("got schemes %s and %s, want %s", *s.Scheme, *p.Scheme, scheme)
		}
	}
}

// By default, the container requests what docs/sizing.md recommends for 1,000 nodes, and has no limits. It must be
// possible to change or remove each request.
func TestResources(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`(?m)^\| 1,000 nodes, [^|]*\| (\d+) MiB \|[^|]*\| (\d+m) \|$`).FindStringSubmatch(values(t, root+"/docs/sizing.md"))
	if row == nil {
		t.Fatal("docs/sizing.md has no row for 1,000 nodes")
	}
	for input, want := range map[string][3]string{
		"{}": {row[1] + "Mi", row[2], "0"}, "{resources: {requests: {memory: 1Gi}}}": {"1Gi", row[2], "0"},
		"{resources: {limits: {memory: 1Gi}}}": {row[1] + "Mi", row[2], "1Gi"}, "{resources: {requests: null}}": {"0", "0", "0"},
	} {
		r := container(t, input).Resources
		if got := [3]string{r.Requests.Memory().String(), r.Requests.Cpu().String(), r.Limits.Memory().String()}; got != want || !r.Limits.Cpu().IsZero() {
			t.Errorf("%s: got requests and memory limit %v, want %v", input, got, want)
		}
	}
}

// A pull secret is a name, or an object with a name. Duplicates must be removed.
func TestPullSecrets(t *testing.T) {
	t.Parallel()
	got := pod(t, render(t, "{global: {imagePullSecrets: [a, {name: b}]}, imagePullSecrets: [b, c]}")).ImagePullSecrets
	if want := []corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}, {Name: "c"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Each object must have the common annotations, and its own annotations override them. Pods must only have their own
// annotations, so that a change of the common ones does not restart them.
func TestCommonAnnotations(t *testing.T) {
	t.Parallel()
	const input = "{commonAnnotations: {a: common, b: common}, podAnnotations: {c: pod}, serviceAccount: {annotations: {a: own}}, " +
		"serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboards: {enabled: true}}"
	objects := render(t, input)
	for _, object := range objects {
		want := map[string]string{"a": "common", "b": "common"}
		if _, ok := object.(*corev1.ServiceAccount); ok {
			want["a"] = "own"
		}
		if got := object.(metav1.Object).GetAnnotations(); !maps.Equal(got, want) {
			t.Errorf("%T: got annotations %v, want %v", object, got, want)
		}
	}
	if got := the[appsv1.Deployment](t, objects).Spec.Template.Annotations; !maps.Equal(got, map[string]string{"c": "pod"}) {
		t.Errorf("unexpected pod annotations %v", got)
	}
}

// A spread constraint must ignore pods of older revisions, unless it sets matchLabelKeys or labelSelector. For
// Kubernetes before 1.27, the chart must not use matchLabelKeys.
func TestSpread(t *testing.T) {
	t.Parallel()
	const one = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"
	for given, want := range map[string][]string{
		one + "}": {"pod-template-hash"}, one + ", matchLabelKeys: []}": nil, one + ", labelSelector: {matchLabels: {a: b}}}": nil,
	} {
		if got := pod(t, render(t, "topologySpreadConstraints: ["+given+"]")).TopologySpreadConstraints[0]; !slices.Equal(got.MatchLabelKeys, want) || got.LabelSelector == nil {
			t.Errorf("%s: unexpected spread constraint %+v", given, got)
		}
	}
	old, err := helmTemplate(inputs{"kubeflap", "monitoring", "v1.26.0", "{}"})
	if err != nil || strings.Contains(old.objects, "matchLabelKeys") || !strings.Contains(old.objects, "topologySpreadConstraints") {
		t.Errorf("unexpected matchLabelKeys for Kubernetes 1.26, or an error: %v\n%s", err, old.objects)
	}
}

// Ingress and HTTPRoute must route the configured paths to the Service. If no paths are configured, they must route all
// paths.
func TestPageIsPublished(t *testing.T) {
	t.Parallel()
	const routed = "service: {port: 80}, httpRoute: {enabled: true, parentRefs: [{name: g}]"
	objects := render(t, "{ingress: {enabled: true, hosts: [{host: a.x}, {host: b.x, paths: [{path: /flaps, pathType: Exact}]}]}, "+routed+"}}")
	service := the[corev1.Service](t, objects)
	var got []string
	for _, rule := range the[networkingv1.Ingress](t, objects).Spec.Rules {
		for _, path := range rule.HTTP.Paths {
			if to := path.Backend.Service; to.Name != service.Name || to.Port.Name != service.Spec.Ports[0].Name {
				t.Errorf("%s routes to %+v", rule.Host, to)
			}
			got = append(got, rule.Host+path.Path+" "+string(*path.PathType))
		}
	}
	if want := []string{"a.x/ Prefix", "b.x/flaps Exact"}; !slices.Equal(got, want) {
		t.Errorf("the Ingress routes %q, want %q", got, want)
	}
	rule := the[gatewayv1.HTTPRoute](t, objects).Spec.Rules[0]
	if to := rule.BackendRefs[0]; string(to.Name) != service.Name || *to.Port != 80 || *rule.Matches[0].Path.Value != "/" {
		t.Errorf("unexpected route %+v", rule)
	}
	own := the[gatewayv1.HTTPRoute](t, render(t, "{"+routed+", rules: [{backendRefs: [{name: login, port: 1}]}]}}")).Spec.Rules[0].BackendRefs
	if len(own) != 1 || own[0].Name != "login" {
		t.Errorf("the chart changed the configured backends: %+v", own)
	}
}

// With a single replica, there must be no disruption budget, because it would block the drain of the node.
func TestDisruptionBudget(t *testing.T) {
	t.Parallel()
	for values, want := range map[string][2]string{
		"{}": {"", "1"}, "{podDisruptionBudget: {maxUnavailable: 50%}}": {"", "50%"}, "{podDisruptionBudget: {minAvailable: 1}}": {"1", ""},
		"{replicas: 3, podDisruptionBudget: {minAvailable: 60%}}": {"60%", ""},
	} {
		spec := the[policyv1.PodDisruptionBudget](t, render(t, values)).Spec
		for i, got := range []*intstr.IntOrString{spec.MinAvailable, spec.MaxUnavailable} {
			if (got == nil) != (want[i] == "") || got != nil && got.String() != want[i] {
				t.Errorf("%s: got %v, want %q", values, got, want[i])
			}
		}
	}
	for values, want := range map[string]int{"{}": 1, "{replicas: 1}": 0, "{podDisruptionBudget: {enabled: false}}": 0} {
		if got := all[policyv1.PodDisruptionBudget](render(t, values)); len(got) != want {
			t.Errorf("%s: got %d disruption budgets, want %d", values, len(got), want)
		}
	}
}

// The VerticalPodAutoscaler must only change the resources of kubeflap's container. By default, it must not evict pods.
func TestVerticalPodAutoscaler(t *testing.T) {
	t.Parallel()
	if found := all[autoscalingv1.VerticalPodAutoscaler](render(t, "{}")); len(found) > 0 {
		t.Errorf("got %d VerticalPodAutoscalers by default, want none", len(found))
	}
	objects := render(t, "{verticalPodAutoscaler: {enabled: true}}")
	deployment, spec := the[appsv1.Deployment](t, objects), the[autoscalingv1.VerticalPodAutoscaler](t, objects).Spec
	if spec.TargetRef.Name != deployment.Name || spec.TargetRef.Kind != "Deployment" || spec.TargetRef.APIVersion != "apps/v1" {
		t.Errorf("unexpected target %+v", spec.TargetRef)
	}
	policies := spec.ResourcePolicy.ContainerPolicies
	if *spec.UpdatePolicy.UpdateMode != autoscalingv1.UpdateModeInitial || policies[0].ContainerName != deployment.Spec.Template.Spec.Containers[0].Name ||
		policies[0].Mode != nil || policies[1].ContainerName != autoscalingv1.DefaultContainerResourcePolicy || *policies[1].Mode != autoscalingv1.ContainerScalingModeOff {
		t.Errorf("unexpected spec %+v", spec)
	}
	set := the[autoscalingv1.VerticalPodAutoscaler](t, render(t, values(t, chart+"/ci/scrapeconfig-values.yaml"))).Spec
	policy := set.ResourcePolicy.ContainerPolicies[0]
	if *set.UpdatePolicy.UpdateMode != autoscalingv1.UpdateModeOff || policy.MinAllowed.Memory().String() != "64Mi" || policy.MaxAllowed.Memory().String() != "1Gi" ||
		!slices.Equal(*policy.ControlledResources, []corev1.ResourceName{"memory"}) {
		t.Errorf("unexpected spec %+v", set)
	}
}

func TestUserNamespace(t *testing.T) {
	t.Parallel()
	if p := pod(t, render(t, "{}")); p.HostUsers != nil {
		t.Errorf("hostUsers is %t by default, but older API servers do not support it", *p.HostUsers)
	}
	if p := pod(t, render(t, "{hostUsers: false}")); p.HostUsers == nil || *p.HostUsers {
		t.Error("the pod uses the host's user namespace")
	}
}

// With hostNetwork, a rolling update must not add a pod, because the old pod already uses the ports of the node.
func TestHostNetworkAddsNoPod(t *testing.T) {
	t.Parallel()
	type limits struct{ surge, unavailable string }
	for input, want := range map[string]limits{
		"{hostNetwork: true}": {"0", "1"},
		"{hostNetwork: true, updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}":              {"0", "2"},
		"{hostNetwork: true, updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}}": {"1", "0"},
	} {
		s := the[appsv1.Deployment](t, render(t, input)).Spec.Strategy
		if got := (limits{s.RollingUpdate.MaxSurge.String(), s.RollingUpdate.MaxUnavailable.String()}); got != want || s.Type != appsv1.RollingUpdateDeploymentStrategyType {
			t.Errorf("%s: got %s %v, want %v", input, s.Type, got, want)
		}
	}
	for input, want := range map[string]appsv1.DeploymentStrategyType{"{}": "", "{hostNetwork: true, updateStrategy: {type: Recreate}}": "Recreate"} {
		if s := the[appsv1.Deployment](t, render(t, input)).Spec.Strategy; s.Type != want || s.RollingUpdate != nil {
			t.Errorf("%s: unexpected strategy %+v", input, s)
		}
	}
}

func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	open := the[networkingv1.NetworkPolicy](t, render(t, "{networkPolicy: {enabled: true}}")).Spec
	if len(open.Ingress) != 2 || len(open.Ingress[0].From) != 0 || open.Ingress[0].Ports[0].Port.String() != "http" || len(open.PolicyTypes) != 1 {
		t.Errorf("unexpected default network policy: %+v", open)
	}
	closed := the[networkingv1.NetworkPolicy](t, render(t, values(t, chart+"/ci/everything-values.yaml"))).Spec
	if len(closed.Ingress[0].From) != 1 || len(closed.Egress) != 1 || !slices.Contains(closed.PolicyTypes, networkingv1.PolicyTypeEgress) {
		t.Errorf("unexpected network policy: %+v", closed)
	}
	for _, spec := range []networkingv1.NetworkPolicySpec{open, closed} {
		if probes := spec.Ingress[1]; len(probes.From) != 0 || len(probes.Ports) != 1 || probes.Ports[0].Port.String() != "probes" {
			t.Errorf("the probe port must be open to all sources, and no other port: %+v", probes)
		}
	}
}

// The values for pods must be in the rendered pods.
func TestEverything(t *testing.T) {
	t.Parallel()
	objects := render(t, values(t, chart+"/ci/everything-values.yaml"))
	d := the[appsv1.Deployment](t, objects)
	p := d.Spec.Template.Spec
	c := p.Containers[0]
	for what, ok := range map[string]bool{
		"name":          d.Name == "flap-watcher" && d.Namespace == "observability",
		"image":         c.Image == "registry.example.org/mirror/kubeflap@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"pull secrets":  len(p.ImagePullSecrets) == 2,
		"runtime class": *p.RuntimeClassName == "gvisor" && d.Spec.MinReadySeconds == 15,
		"from Secrets":  c.EnvFrom[0].SecretRef.Name == "kubeflap-env" && c.Lifecycle.PreStop.Sleep.Seconds == 5,
		"node port":     the[corev1.Service](t, objects).Spec.Ports[0].NodePort == 30969,
		"Service label": the[corev1.Service](t, objects).Labels["example.org/zone"] == "internal",
		"labels":        d.Labels["team"] == "platform" && d.Spec.Template.Labels["tier"] == "monitoring" && d.Spec.Selector.MatchLabels["tier"] == "",
		"network":       p.HostNetwork && p.DNSPolicy == corev1.DNSClusterFirstWithHostNet && c.Ports[0].ContainerPort == 19969 && c.Ports[1].ContainerPort == 19970,
		"own spread":    p.TopologySpreadConstraints[0].LabelSelector.MatchLabels["tier"] == "monitoring" && len(p.TopologySpreadConstraints[0].LabelSelector.MatchLabels) == 1,
		"no user":       p.SecurityContext.RunAsUser == nil && *p.SecurityContext.RunAsNonRoot,
		"priority":      p.PriorityClassName == "system-cluster-critical",
		"containers":    len(p.Containers) == 2 && len(p.InitContainers) == 1,
		"flags":         slices.Contains(c.Args, "--node-monitor-grace-period=1m30s") && slices.Contains(c.Args, "--web.listen-address=:9968"),
		"resources":     c.Resources.Limits.Memory().String() == "512Mi",
		"probes":        c.LivenessProbe.InitialDelaySeconds == 3 && c.ReadinessProbe.SuccessThreshold == 2,
		"account":       p.ServiceAccountName == "watcher",
		"own manifests": len(all[corev1.ConfigMap](objects)) == 2 && all[corev1.ConfigMap](objects)[0].Name != "",
		"service":       the[corev1.Service](t, objects).Spec.Ports[0].Port == 80,
	} {
		if !ok {
			t.Errorf("%s is not in the pod template: %+v", what, d.Spec)
		}
	}
}
