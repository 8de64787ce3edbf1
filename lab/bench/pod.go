package bench

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podObject returns a pod of a Deployment. It contains an application and a sidecar.
func (s Size) podObject(pod int) *corev1.Pod {
	app := s.service(s.serviceOf(pod))
	template := hash("template", app)[:10]
	labels := appLabels(app)
	labels["pod-template-hash"] = template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.pod(pod), GenerateName: app + "-" + template + "-", Namespace: s.namespace(s.serviceOf(pod)), Labels: labels,
			Annotations: map[string]string{
				"checksum/config": digest("config", app), "checksum/secret": digest("secret", app),
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "prometheus.io/path": "/metrics",
				"kubectl.kubernetes.io/default-container": "app",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + template,
				UID:        types.UID("5f1c7c2e-0b0f-4a52-9d57-" + hash("replicaset", app)[:12]),
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: podSpec(app, s.node(s.nodeOf(pod))),
	}
}

func tokenVolume(app string) string { return "kube-api-access-" + hash("token", app)[:5] }

func podSpec(app, node string) corev1.PodSpec {
	token := tokenVolume(app)
	return corev1.PodSpec{
		NodeName: node, ServiceAccountName: app, DeprecatedServiceAccount: app, Priority: new(int32(0)), PreemptionPolicy: new(corev1.PreemptLowerPriority),
		RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
		SchedulerName: corev1.DefaultSchedulerName, TerminationGracePeriodSeconds: new(int64(60)), EnableServiceLinks: new(false),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(10001)), FSGroup: new(int64(10001))},
		Containers:      []corev1.Container{appContainer(app, token), proxyContainer(app, token)},
		Volumes:         podVolumes(app, token),
		Tolerations: []corev1.Toleration{
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
		},
	}
}

func appContainer(app, token string) corev1.Container {
	return corev1.Container{
		Name: "app", Image: appImage(app), ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Args: []string{"serve", "--config=/etc/app/config.yaml", "--listen=:8080", "--metrics-listen=:9090", "--log-format=json"},
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
		},
		Env:            append(environment(app), plainEnvironment(app)...),
		EnvFrom:        []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: app + "-env"}}}},
		Resources:      resources("250m", "512Mi", "1Gi"),
		ReadinessProbe: probe("/readyz", "http", 5), LivenessProbe: probe("/livez", "http", 20),
		Lifecycle:       &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "sleep 10"}}}},
		SecurityContext: restricted(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/app", ReadOnly: true},
			{Name: "credentials", MountPath: "/var/run/credentials", ReadOnly: true},
			{Name: "cache", MountPath: "/var/cache/app"},
			{Name: "tmp", MountPath: "/tmp"},
			serviceAccountMount(token),
		},
	}
}

func proxyContainer(app, token string) corev1.Container {
	return corev1.Container{
		Name: "proxy", Image: proxyImage, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Args:  []string{"--config-path=/etc/proxy/envoy.yaml", "--service-cluster=" + app, "--drain-time-s=45", "--log-level=warning", "--concurrency=2"},
		Ports: []corev1.ContainerPort{{Name: "proxy-admin", ContainerPort: 15000, Protocol: corev1.ProtocolTCP}},
		Env:   environment(app)[:3], Resources: resources("100m", "128Mi", "256Mi"),
		ReadinessProbe: probe("/healthz/ready", "proxy-admin", 5), LivenessProbe: probe("/healthz/live", "proxy-admin", 20),
		SecurityContext: restricted(),
		VolumeMounts:    []corev1.VolumeMount{{Name: "proxy-config", MountPath: "/etc/proxy", ReadOnly: true}, serviceAccountMount(token)},
	}
}

const proxyImage = "registry.example.com/mesh/proxy:1.34.1"

func appImage(app string) string { return "registry.example.com/shop/" + app + ":2.14.3" }

func serviceAccountMount(token string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: token, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}
}

func environment(app string) []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	secret := func(name, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: app + "-credentials"}, Key: key,
		}}}
	}
	return []corev1.EnvVar{
		field("POD_NAME", "metadata.name"), field("POD_NAMESPACE", "metadata.namespace"), field("POD_IP", "status.podIP"),
		field("NODE_NAME", "spec.nodeName"), secret("DATABASE_URL", "database-url"), secret("API_TOKEN", "api-token"),
	}
}

func plainEnvironment(app string) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "LOG_LEVEL", Value: "info"},
		{Name: "REGION", Value: region},
		{Name: "OTEL_SERVICE_NAME", Value: app},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://collector.observability.svc.cluster.local:4317"},
		{Name: "OTEL_RESOURCE_ATTRIBUTES", Value: "service.namespace=shop,service.version=2.14.3,deployment.environment=production"},
	}
}

func resources(cpu, memory, limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
	}
}

func probe(path, port string, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(port), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 3, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func podVolumes(app, token string) []corev1.Volume {
	config := func(name, from string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: from}, DefaultMode: new(int32(0o644)),
		}}}
	}
	empty := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	}
	return []corev1.Volume{
		config("config", app+"-config"), config("proxy-config", "mesh-proxy"), empty("cache"), empty("tmp"),
		{Name: "credentials", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: app + "-credentials", DefaultMode: new(int32(0o400))}}},
		{Name: token, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o644)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		}}},
	}
}

// podStatus returns the status of a pod that has run for a long time.
func (s Size) podStatus(pod int) corev1.PodStatus {
	app, ip, node := s.service(s.serviceOf(pod)), podIP(pod), nodeIP(s.nodeOf(pod))
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: new(started()),
		HostIP: node, HostIPs: []corev1.HostIP{{IP: node}}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		ContainerStatuses: []corev1.ContainerStatus{containerStatus("app", appImage(app), pod), containerStatus("proxy", proxyImage, pod)},
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: started()})
	}
	return status
}

func containerStatus(name, image string, pod int) corev1.ContainerStatus {
	repository, _, _ := strings.Cut(image, ":")
	return corev1.ContainerStatus{
		Name: name, Image: image, ImageID: repository + "@sha256:" + digest(image), ContainerID: fmt.Sprintf("containerd://%s", digest(name, pod)),
		Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started()}},
	}
}
