package scenario

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// container is the name of each pod's only container.
const container = "app"

func createNamespace(l *Lab, name string) {
	create(l, l.Client.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// newPod returns a pod that is already bound to a node. The lab has no scheduler.
func newPod(namespace, name, node, app string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			AutomountServiceAccountToken:  new(false),
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers:                    []corev1.Container{{Name: container, Image: "example.com/app:1"}},
		},
	}
}

func createPod(l *Lab, pod *corev1.Pod) { create(l, l.Client.CoreV1().Pods(pod.Namespace), pod) }

// createService creates a Service. If selector is nil, the Service has no selector.
func createService(l *Lab, namespace, name string, selector map[string]string) *corev1.Service {
	return createServiceWith(l, namespace, name, func(spec *corev1.ServiceSpec) { spec.Selector = selector })
}

// createServiceWith creates a Service whose selector is the label app with the Service's name. If change is not nil, it
// changes the spec first.
func createServiceWith(l *Lab, namespace, name string, change func(*corev1.ServiceSpec)) *corev1.Service {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	if change != nil {
		change(&object.Spec)
	}
	return create(l, l.Client.CoreV1().Services(namespace), object)
}

// makeWeb creates the namespace "shop" with the Service "web" and its pods web-1, web-2 and so on, one on each of the
// given nodes. If change is not nil, it changes each pod before the pod is created.
func makeWeb(l *Lab, change func(*corev1.Pod), nodes ...string) {
	createNamespace(l, "shop")
	createServiceWith(l, "shop", "web", nil)
	for i, node := range nodes {
		pod := newPod("shop", podName(i), node, "web")
		if change != nil {
			change(pod)
		}
		createPod(l, pod)
	}
}

// MakeReadyWeb is like makeWeb, and waits until all addresses are ready.
func MakeReadyWeb(l *Lab, nodes ...string) {
	makeWeb(l, nil, nodes...)
	l.waitForReadyAddresses("shop", "web", len(nodes))
}

// spread creates the Service "web" with pods that are distributed over the hollow nodes.
func spread(l *Lab, pods int, change func(*corev1.Pod)) {
	nodes := l.nodes()
	makeWeb(l, change, slices.Repeat(nodes, pods/len(nodes)+1)[:pods]...)
}

// spreadReady creates the Service "web" like spread. It waits until all of its addresses are ready, and no node has a
// taint.
func spreadReady(l *Lab, pods int) {
	spread(l, pods, nil)
	l.waitForReadyAddresses("shop", "web", pods)
	l.waitForNoTaints()
}

func podName(i int) string { return fmt.Sprintf("web-%d", i+1) }

// setImage changes the image of a pod in place.
func setImage(l *Lab, namespace, name, image string) {
	patchPod(l, namespace, name, fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":%q}]}}`, container, image))
}

// setCondition sets one condition in a pod's status.
func setCondition(l *Lab, namespace, name, kind string, status corev1.ConditionStatus) {
	patchPod(l, namespace, name, fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"lastTransitionTime":%s}]}}`, kind, status, now()), "status")
}

func patchPod(l *Lab, namespace, name, change string, subresources ...string) {
	patch(l, l.Client.CoreV1().Pods(namespace), name, change, subresources...)
}

func patchService(l *Lab, namespace, name, change string) {
	patch(l, l.Client.CoreV1().Services(namespace), name, change)
}

// now returns the current time in the API's format, quoted.
func now() string {
	text, _ := metav1.Now().MarshalJSON() // an error is impossible for the current time
	return string(text)
}

// slicesOf returns the EndpointSlices of a Service.
func slicesOf(l *Lab, namespace, service string) []discoveryv1.EndpointSlice {
	return list(l, l.Client.DiscoveryV1().EndpointSlices(namespace), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service}).Items
}

// writeEndpoints replaces the addresses of an Endpoints object, or creates the object.
func writeEndpoints(l *Lab, namespace, name string, ips ...string) {
	var subsets []corev1.EndpointSubset
	if len(ips) > 0 {
		subset := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Name: "http", Port: 80}}}
		for _, ip := range ips {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: ip})
		}
		subsets = append(subsets, subset)
	}
	client := l.Client.CoreV1().Endpoints(namespace)
	object, err := client.Get(l.Ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		create(l, client, &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: subsets})
		return
	}
	l.Must(err)
	object.Subsets, object.ResourceVersion = subsets, ""
	steps.Value(client.Update(l.Ctx, object, metav1.UpdateOptions{}))
}

// waitForEndpoints waits until an Endpoints object exists.
func waitForEndpoints(l *Lab, namespace, name string) {
	l.Until("Endpoints of "+name, func(l *Lab) { get(l, l.Client.CoreV1().Endpoints(namespace), name) })
}

// removeService deletes a Service, and waits until its Endpoints and the slices that mirror them are gone.
func removeService(l *Lab, namespace, name string) {
	remove(l, l.Client.CoreV1().Services(namespace), name)
	l.Until("the Endpoints of "+name+" to be deleted", func(l *Lab) {
		left := len(list(l, l.Client.CoreV1().Endpoints(namespace), metav1.ListOptions{FieldSelector: "metadata.name=" + name}).Items)
		for _, slice := range slicesOf(l, namespace, name) {
			if slice.Labels[discoveryv1.LabelManagedBy] == "endpointslicemirroring-controller.k8s.io" {
				left++
			}
		}
		l.Expect(left == 0, "%d objects still exist", left)
	})
}

// evict evicts a pod through the Eviction API, like kubectl drain.
func evict(l *Lab, namespace, pod string) {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}
	l.Must(l.Client.PolicyV1().Evictions(namespace).Evict(l.Ctx, eviction))
}
