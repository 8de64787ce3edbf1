package kube

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// resource is what there is to know of a watched resource.
type resource struct {
	kind  event.Kind
	group schema.GroupVersion
	// namespace is empty for all of them.
	namespace string
	// large: there may be hundreds of thousands, so each object of a list goes on as it comes, and the
	// list is never in memory whole. The others go on together when their list is complete.
	large bool
	// without says what is lost if the resource cannot be watched.
	without string
}

// resources are what is watched: all of the cluster, or if a namespace is given only what is
// in it, and the nodes.
func resources(namespace string) []resource {
	discovery, coordination := discoveryv1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion
	return []resource{
		{kind: event.KindNode, group: corev1.SchemeGroupVersion, without: "nodes stay as they were last seen, and no cause is found on them"},
		{
			// kube-system holds Leases too: those of elected leaders, which are no heartbeats.
			kind: event.KindLease, group: coordination, namespace: corev1.NamespaceNodeLease,
			without: "heartbeats are seen only where a node's status has them, by default every 5 minutes",
		},
		{
			kind: event.KindPod, group: corev1.SchemeGroupVersion, namespace: namespace, large: true,
			without: "pods stay as they were last seen, and causes are not found",
		},
		{
			kind: event.KindService, group: corev1.SchemeGroupVersion, namespace: namespace,
			without: "Services stay as they were last seen",
		},
		{
			kind: event.KindEndpointSlice, group: discovery, namespace: namespace, large: true,
			without: "addresses are taken from Endpoints, which end at 1,000, and not compared with those of slices",
		},
		{
			kind: event.KindEndpoints, group: corev1.SchemeGroupVersion, namespace: namespace, large: true,
			without: "hand-written Endpoints, their resets and differences from EndpointSlices are not seen",
		},
	}
}

// scope is where the resource is watched, in the words of RBAC.
func (r *resource) scope() string {
	if r.namespace == "" {
		return "cluster scope"
	}
	return fmt.Sprintf("namespace %q", r.namespace)
}

// endpoint is a resource and the client for it.
type endpoint struct {
	resource
	client rest.Interface
	params runtime.ParameterCodec
}

func (e *endpoint) get(options *metav1.ListOptions) *rest.Request {
	return e.client.Get().
		NamespaceIfScoped(e.namespace, e.namespace != "").
		Resource(e.kind.String()).
		VersionedParams(options, e.params)
}
