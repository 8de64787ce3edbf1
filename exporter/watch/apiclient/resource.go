package apiclient

import (
	"path"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// nodeLeases is the namespace of node Leases (corev1.NamespaceNodeLease).
	nodeLeases = "kube-node-lease"
	// controlPlaneLeases is the namespace of leader election Leases and API server Leases (metav1.NamespaceSystem).
	controlPlaneLeases = "kube-system"
	// coordination is the API group of Leases.
	coordination = "coordination.k8s.io"
)

// Resource is a watched resource, in one namespace or in all namespaces.
type Resource struct {
	Kind event.Kind
	// Lost describes what kubeflap cannot see without the resource.
	Lost string

	// name is the plural name of the resource in the API, object is its kind, and group is its API group, which is empty
	// for the core group.
	name, object, group string
	// namespace is empty if the resource is watched in all namespaces.
	namespace string
	client    *Client
}

// Resources returns the resources to watch in a namespace. If namespace is empty, it returns the resources to watch in
// all namespaces, and the control-plane Leases. Nodes and their Leases are always included.
func (c *Client) Resources(namespace string) []Resource {
	const discovery = "discovery.k8s.io"
	all := []Resource{
		{Kind: event.KindNode, object: "Node", Lost: "the last known state of nodes is kept, and losses are not attributed to nodes"},
		{
			Kind: event.KindLease, object: "Lease", group: coordination, namespace: nodeLeases,
			Lost: "heartbeats are only seen in node status reports, by default every 5 minutes",
		},
		{
			Kind: event.KindPod, object: "Pod", namespace: namespace,
			Lost: "the last known state of pods is kept, and causes are unknown",
		},
		{
			Kind: event.KindService, object: "Service", namespace: namespace,
			Lost: "the last known state of Services is kept",
		},
		{
			Kind: event.KindEndpointSlice, object: "EndpointSlice", group: discovery, namespace: namespace,
			Lost: "addresses are read from Endpoints, which contain at most 1,000 addresses each, and are not compared with EndpointSlices",
		},
		{
			Kind: event.KindEndpoints, object: "Endpoints", namespace: namespace,
			Lost: "manually managed Endpoints are not watched, so overwritten addresses and differences from EndpointSlices are not detected",
		},
	}
	all = append(all, optional(namespace)...)
	for i := range all {
		all[i].client, all[i].name = c, all[i].Kind.String()
		if all[i].object == "Lease" {
			all[i].name = "leases"
		}
	}
	return all
}

// optional returns the resources that kubeflap can work without.
func optional(namespace string) []Resource {
	const apps = "apps"
	all := []Resource{
		{
			Kind: event.KindDeployment, object: "Deployment", group: apps, namespace: namespace,
			Lost: "losses because a Deployment is scaled to zero or updated can count as unplanned",
		},
		{
			Kind: event.KindStatefulSet, object: "StatefulSet", group: apps, namespace: namespace,
			Lost: "losses because a StatefulSet is scaled to zero or updated can count as unplanned",
		},
	}
	if namespace == "" {
		all = append(all, Resource{
			Kind: event.KindControlPlaneLease, object: "Lease", group: coordination, namespace: controlPlaneLeases,
			Lost: "the controller manager, an API server and etcd are harder to tell apart as the cause of an incident",
		})
	}
	return all
}

// Has reports whether an object belongs to the resource. In kube-system, kubeflap uses only some Leases. The API server
// cannot select them, because a field selector allows only one name.
func (r *Resource) Has(object event.Object) bool {
	return r.Kind != event.KindControlPlaneLease || event.IsControlPlaneLease(object.Metadata().Name)
}

// path returns the path of the resource, or of an object if name is not empty.
func (r *Resource) path(name string) string {
	prefix, namespaces := "api/v1", ""
	if r.group != "" {
		prefix = "apis/" + r.group + "/v1"
	}
	if r.namespace != "" {
		namespaces = "namespaces/" + r.namespace
	}
	return path.Join(prefix, namespaces, r.name, name)
}
