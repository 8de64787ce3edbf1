package watch

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// The groups of the API that are watched, in the versions that are read.
var (
	core         = schema.GroupVersion{Version: "v1"}
	discovery    = schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}
	coordination = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
)

// nodeLeases is the namespace of the nodes' Leases (corev1.NamespaceNodeLease).
const nodeLeases = "kube-node-lease"

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
	return []resource{
		{kind: event.KindNode, group: core, without: "nodes stay as they were last seen, and no cause is found on them"},
		{
			// kube-system holds Leases too: those of elected leaders, which are no heartbeats.
			kind: event.KindLease, group: coordination, namespace: nodeLeases,
			without: "heartbeats are seen only where a node's status has them, by default every 5 minutes",
		},
		{
			kind: event.KindPod, group: core, namespace: namespace, large: true,
			without: "pods stay as they were last seen, and causes are not found",
		},
		{
			kind: event.KindService, group: core, namespace: namespace,
			without: "Services stay as they were last seen",
		},
		{
			kind: event.KindEndpointSlice, group: discovery, namespace: namespace, large: true,
			without: "addresses are taken from Endpoints, which end at 1,000, and not compared with those of slices",
		},
		{
			kind: event.KindEndpoints, group: core, namespace: namespace, large: true,
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
