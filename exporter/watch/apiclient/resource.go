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
	const discovery, apps = "discovery.k8s.io", "apps"
	all := []Resource{
		{Kind: event.KindNode, object: "Node"},
		{Kind: event.KindLease, object: "Lease", group: coordination, namespace: nodeLeases},
		{Kind: event.KindPod, object: "Pod", namespace: namespace},
		{Kind: event.KindService, object: "Service", namespace: namespace},
		{Kind: event.KindEndpointSlice, object: "EndpointSlice", group: discovery, namespace: namespace},
		{Kind: event.KindEndpoints, object: "Endpoints", namespace: namespace},
		{Kind: event.KindDeployment, object: "Deployment", group: apps, namespace: namespace},
		{Kind: event.KindStatefulSet, object: "StatefulSet", group: apps, namespace: namespace},
	}
	if namespace == "" {
		all = append(all, Resource{Kind: event.KindControlPlaneLease, object: "Lease", group: coordination, namespace: controlPlaneLeases})
	}
	for i := range all {
		all[i].client, all[i].name = c, all[i].Kind.String()
		if all[i].object == "Lease" {
			all[i].name = "leases"
		}
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
