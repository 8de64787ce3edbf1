package main

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Each template is an object in the directory objects, as JSON. Its ${names} stand for values that differ between objects.
var (
	//go:embed objects
	templates                                  embed.FS
	podTemplate, nodeTemplate, serviceTemplate = template("pod"), template("node"), template("service")
)

func template(kind string) func() string {
	return sync.OnceValue(func() string {
		text, err := templates.ReadFile("objects/" + kind + ".yaml")
		if err == nil {
			text, err = yaml.YAMLToJSON(text)
		}
		if err != nil {
			panic(err) // the file is part of the program
		}
		return string(text)
	})
}

// fromTemplate returns an object from a template with the given values.
func fromTemplate[T any](template string, values map[string]string) *T {
	text := os.Expand(template, func(name string) string {
		if values[name] == "" {
			panic("no value for " + name)
		}
		return values[name]
	})
	object := new(T)
	if err := json.Unmarshal([]byte(text), object); err != nil {
		panic(err) // the template is part of the program
	}
	return object
}

// These are the names of field managers in a real cluster. The API server stores them in managedFields.
const (
	byControllerManager = "kube-controller-manager"
	byKubelet           = "kubelet"
	byHelm              = "helm"
)

// leaseSeconds is the kubelet's default duration of a Lease.
const leaseSeconds int32 = 40

// hash returns a string that looks random. The same parts always give the same string.
func hash(parts ...any) string {
	return digest(parts...)[:16]
}

// digest returns a string that looks like an image digest or a container ID. The same parts always give the same
// string.
func digest(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

func (s Size) namespace(service int) string {
	return fmt.Sprintf("team-%d", service/servicesPerNamespace)
}

func (s Size) service(service int) string { return fmt.Sprintf("app-%05d", service) }

func (s Size) node(node int) string { return fmt.Sprintf("node-%05d.example.internal", node) }

func (s Size) serviceOf(pod int) int { return min(pod/s.perService(), max(0, s.Services-1)) }

// nodeOf returns the number of the node on which a pod runs.
func (s Size) nodeOf(pod int) int { return pod % max(1, s.Nodes) }

func (s Size) pod(pod int) string {
	app := s.service(s.serviceOf(pod))
	return app + "-" + templateHash(app) + "-" + suffix(pod)
}

// suffix returns the end of a pod's name. It looks like the random suffix that a ReplicaSet generates, but is different
// for each pod.
func suffix(pod int) string {
	const (
		letters = "bcdfghjklmnpqrstvwxz2456789"
		all     = 14_348_907 // 27^5
		prime   = 7_368_787  // coprime to 27^5
	)
	n, text := pod*prime%all, make([]byte, 5)
	for i := range text {
		text[i] = letters[n%len(letters)]
		n /= len(letters)
	}
	return string(text)
}

const region = "eu-central-1"

func zone(node int) string { return fmt.Sprintf("%s%c", region, 'a'+node%zones) }

func nodeIP(node int) string { return fmt.Sprintf("10.240.%d.%d", node>>8, node&255) }

func clusterIP(service int) string { return fmt.Sprintf("10.0.%d.%d", 64+service>>8, service&255) }

func podIP(pod int) string { return fmt.Sprintf("10.%d.%d.%d", 128+pod>>16, pod>>8&255, pod&255) }

// started returns the time at which all long-running objects started. It is constant, because the cache key of a
// cluster's data depends on it.
func started() metav1.Time { return metav1.Date(2026, 3, 1, 9, 12, 44, 0, time.UTC) }

func appLabels(app string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app, "app.kubernetes.io/component": "backend",
		"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/version": "2.14.3", "app.kubernetes.io/managed-by": "Helm",
	}
}

// serviceObject returns a Service. Its cluster IP is fixed, because the API server would otherwise choose a random one.
func (s Size) serviceObject(service int) *corev1.Service {
	object := fromTemplate[corev1.Service](serviceTemplate(), map[string]string{"app": s.service(service), "namespace": s.namespace(service)})
	object.Spec.ClusterIP = clusterIP(service)
	object.Spec.ClusterIPs = []string{object.Spec.ClusterIP}
	return object
}

// member holds the data that a Service's Endpoints and EndpointSlices contain about a pod.
type member struct {
	name, ip, node, zone string
	uid                  types.UID
}

func (s Size) member(pod int, uid types.UID) member {
	node := s.nodeOf(pod)
	return member{name: s.pod(pod), ip: podIP(pod), node: s.node(node), zone: zone(node), uid: uid}
}

// members returns the pods of a Service.
func (s Size) members(service int, uids []types.UID) (members []member) {
	for pod := service * s.perService(); pod < min((service+1)*s.perService(), s.Pods); pod++ {
		members = append(members, s.member(pod, uids[pod]))
	}
	return members
}

func (m member) target(namespace string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: m.name, UID: m.uid}
}

func endpointsObject(service *corev1.Service, members []member) *corev1.Endpoints {
	subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{
		{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", Port: 9090, Protocol: corev1.ProtocolTCP},
	}}
	for _, m := range members {
		subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: m.ip, NodeName: &m.node, TargetRef: m.target(service.Namespace)})
	}
	labels := appLabels(service.Name)
	labels["endpoints.kubernetes.io/managed-by"] = "endpoint-controller"
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Name: service.Name, Namespace: service.Namespace, Labels: labels,
			Annotations: map[string]string{corev1.EndpointsLastChangeTriggerTime: started().Format(time.RFC3339)},
		},
		Subsets: []corev1.EndpointSubset{subset},
	}
}

func sliceName(service string) string { return service + "-" + hash("slice", service)[:5] }

func sliceObject(service *corev1.Service, members []member) *discoveryv1.EndpointSlice {
	labels := appLabels(service.Name)
	labels[discoveryv1.LabelServiceName] = service.Name
	labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: sliceName(service.Name), Namespace: service.Namespace, Labels: labels,
			Annotations:     map[string]string{corev1.EndpointsLastChangeTriggerTime: started().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)},
			{Name: new("metrics"), Port: new(int32(9090)), Protocol: new(corev1.ProtocolTCP)},
		},
	}
	for _, m := range members {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{m.ip}, NodeName: &m.node, Zone: &m.zone, TargetRef: m.target(service.Namespace),
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		})
	}
	return slice
}

func leaseObject(node *corev1.Node) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &node.Name, LeaseDurationSeconds: new(leaseSeconds), RenewTime: new(metav1.NewMicroTime(started().Time)),
		},
	}
}

// imagesPerNode is the kubelet's default for --node-status-max-images.
const imagesPerNode = 50

func (s Size) nodeObject(i int) *corev1.Node {
	node := fromTemplate[corev1.Node](nodeTemplate(), map[string]string{
		"node": s.node(i), "cidr": fmt.Sprintf("10.%d.%d.0/24", 128+i>>8, i&255), "zone": zone(i), "ip": nodeIP(i), "instance": hash("instance", i),
		"machine": hash("machine", i) + hash("id", i), "system": hash("system", i), "boot": hash("boot", i),
	})
	for i := range imagesPerNode {
		name := fmt.Sprintf("registry.example.com/platform/service-%02d", i)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{name + "@sha256:" + digest(name), name + ":2.14." + fmt.Sprint(i)},
			SizeBytes: int64(50_000_000 + i*1_234_567),
		})
	}
	for volume := range 8 {
		name := corev1.UniqueVolumeName(fmt.Sprintf("kubernetes.io/csi/csi.example.com^vol-%s", hash("volume", i, volume)))
		node.Status.VolumesInUse = append(node.Status.VolumesInUse, name)
		node.Status.VolumesAttached = append(node.Status.VolumesAttached, corev1.AttachedVolume{Name: name})
	}
	return node
}

// podObject returns a pod of a Deployment that has run for a long time. It contains an application and a sidecar.
func (s Size) podObject(i int) *corev1.Pod {
	service, node := s.serviceOf(i), s.nodeOf(i)
	app := s.service(service)
	return fromTemplate[corev1.Pod](podTemplate(), map[string]string{
		"pod": s.pod(i), "app": app, "namespace": s.namespace(service), "node": s.node(node), "ip": podIP(i), "hostIP": nodeIP(node),
		"template": templateHash(app), "replicaset": hash("replicaset", app)[:12], "token": tokenVolume(app),
		"config": digest("config", app), "secret": digest("secret", app), "image": digest("registry.example.com/shop/" + app + ":2.14.3"),
		"container": digest("app", i), "proxy": digest("proxy", i),
	})
}

func templateHash(app string) string { return hash("template", app)[:10] }

func tokenVolume(app string) string { return "kube-api-access-" + hash("token", app)[:5] }
