package apiclient

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// The API groups and versions of the resources.
var (
	core         = schema.GroupVersion{Version: "v1"}
	discovery    = schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}
	coordination = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
)

const (
	// nodeLeases is the namespace of node Leases (corev1.NamespaceNodeLease).
	nodeLeases = "kube-node-lease"
	// controlPlaneLeases is the namespace of leader election Leases and API server Leases (metav1.NamespaceSystem).
	controlPlaneLeases = "kube-system"
)

// Resource is a watched resource, in one namespace or in all namespaces.
type Resource struct {
	Kind event.Kind
	// Large is set if there may be hundreds of thousands of objects. Each object's event is then emitted when the
	// object arrives, not when the list is complete.
	Large bool
	// Lost describes what kubeflap cannot see without the resource.
	Lost string

	// name is the plural name of the resource in the API.
	name  string
	group schema.GroupVersion
	// namespace is empty if the resource is watched in all namespaces.
	namespace string
	client    rest.Interface
	params    runtime.ParameterCodec
}

// Resources returns the resources to watch in a namespace. If namespace is empty, it returns the resources to watch in
// all namespaces, and the control-plane Leases. Nodes and their Leases are always included.
func (c *Client) Resources(namespace string) []Resource {
	all := []Resource{
		{Kind: event.KindNode, group: core, Lost: "the last known state of nodes is kept, and losses are not attributed to nodes"},
		{
			Kind: event.KindLease, group: coordination, namespace: nodeLeases,
			Lost: "heartbeats are only seen in node status reports, by default every 5 minutes",
		},
		{
			Kind: event.KindPod, group: core, namespace: namespace, Large: true,
			Lost: "the last known state of pods is kept, and causes are unknown",
		},
		{
			Kind: event.KindService, group: core, namespace: namespace,
			Lost: "the last known state of Services is kept",
		},
		{
			Kind: event.KindEndpointSlice, group: discovery, namespace: namespace, Large: true,
			Lost: "addresses are read from Endpoints, which contain at most 1,000 addresses each, and are not compared with EndpointSlices",
		},
		{
			Kind: event.KindEndpoints, group: core, namespace: namespace, Large: true,
			Lost: "manually managed Endpoints are not watched, so overwritten addresses and differences from EndpointSlices are not detected",
		},
	}
	for i := range all {
		all[i].name, all[i].client, all[i].params = all[i].Kind.String(), c.groups[all[i].group], c.params
	}
	if namespace == "" {
		all = append(all, Resource{
			Kind: event.KindControlPlaneLease, name: "leases", group: coordination, namespace: controlPlaneLeases,
			Lost:   "the controller manager, an API server and etcd are harder to tell apart as the cause of an incident",
			client: c.controlPlane, params: c.params,
		})
	}
	return all
}

// Name returns the plural name of the resource in the API.
func (r *Resource) Name() string { return r.name }

// Has reports whether an object belongs to the resource. In kube-system, kubeflap uses only some Leases. The API server
// cannot select them, because a field selector allows only one name.
func (r *Resource) Has(object event.Object) bool {
	return object.Kind() == r.Kind && (r.Kind != event.KindControlPlaneLease || event.IsControlPlaneLease(object.Metadata().Name))
}

// Group returns the API group. It is empty for the core group.
func (r *Resource) Group() string { return r.group.Group }

// Scope describes where the resource is watched, in RBAC terms.
func (r *Resource) Scope() string {
	if r.namespace == "" {
		return "cluster scope"
	}
	return fmt.Sprintf("namespace %q", r.namespace)
}

// Request returns a request for a list or a watch.
func (r *Resource) Request(options *metav1.ListOptions) *rest.Request {
	return r.client.Get().
		NamespaceIfScoped(r.namespace, r.namespace != "").
		Resource(r.name).
		VersionedParams(options, r.params)
}

// List returns one page of the resource's list.
func (r *Resource) List(ctx context.Context, options *metav1.ListOptions) (*Page, error) {
	return pageOf(r.Request(options).Do(ctx).Get())
}

// CurrentVersion returns the current resourceVersion of the resource's list. The request limits the list to one object,
// and contains no resourceVersion. With version "0", the watch cache would ignore the limit.
func (r *Resource) CurrentVersion(ctx context.Context) (string, error) {
	list, err := pageOf(r.Request(&metav1.ListOptions{Limit: 1}).MaxRetries(0).Do(ctx).Get())
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// Get returns one object. It returns nil if the API server reports that the object does not exist. The request has
// no resourceVersion, so it is a quorum read from etcd (apiserver, CacheDelegator.Get).
func (r *Resource) Get(ctx context.Context, name string) (event.Object, error) {
	got, err := r.Request(&metav1.ListOptions{}).Name(name).MaxRetries(0).Do(ctx).Get()
	// Only a 404 from the API server proves that the object is absent (rest.Request, newUnstructuredResponseError).
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // callers inspect the error
	}
	if i, ok := got.(*Item); ok && i.Slim.Kind() == r.Kind {
		return i.Slim, nil
	}
	return nil, fmt.Errorf("%w: %T instead of an object of %s", errUnreadable, got, r.Kind)
}

// pageOf returns the page of a list.
func pageOf(got runtime.Object, err error) (*Page, error) {
	if err != nil {
		return nil, err
	}
	if page, ok := got.(*Page); ok {
		return page, nil
	}
	return nil, fmt.Errorf("%w: %T instead of a list", errUnreadable, got)
}
