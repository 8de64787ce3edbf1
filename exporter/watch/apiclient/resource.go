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

// The API groups of the resources, in the versions that are read.
var (
	core         = schema.GroupVersion{Version: "v1"}
	discovery    = schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}
	coordination = schema.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}
)

const (
	// nodeLeases is the namespace of the nodes' Leases (corev1.NamespaceNodeLease).
	nodeLeases = "kube-node-lease"
	// controlPlaneLeases is the namespace of the Leases of leader elections and of API servers (metav1.NamespaceSystem).
	controlPlaneLeases = "kube-system"
)

// Resource is a watched resource, in one namespace or in all.
type Resource struct {
	Kind event.Kind
	// Large: there may be hundreds of thousands of objects, so each object of a list is passed on as it arrives. A list of
	// another resource is passed on when it is complete.
	Large bool
	// Lost says what kubeflap does not see without the resource.
	Lost string

	// name is the API's name of the resource.
	name  string
	group schema.GroupVersion
	// namespace is empty for all namespaces.
	namespace string
	client    rest.Interface
	params    runtime.ParameterCodec
}

// Resources returns the watched resources: those of all namespaces, or if a namespace is given of that one. Nodes and their
// Leases are always included, the Leases of the control plane only without a namespace.
func (c *Client) Resources(namespace string) []Resource {
	all := []Resource{
		{Kind: event.KindNode, group: core, Lost: "nodes stay as they were last seen, and no cause is found on them"},
		{
			Kind: event.KindLease, group: coordination, namespace: nodeLeases,
			Lost: "heartbeats are seen only where a node's status has them, by default every 5 minutes",
		},
		{
			Kind: event.KindPod, group: core, namespace: namespace, Large: true,
			Lost: "pods stay as they were last seen, and causes are not found",
		},
		{
			Kind: event.KindService, group: core, namespace: namespace,
			Lost: "Services stay as they were last seen",
		},
		{
			Kind: event.KindEndpointSlice, group: discovery, namespace: namespace, Large: true,
			Lost: "addresses are taken from Endpoints, which end at 1,000, and are not compared with those of slices",
		},
		{
			Kind: event.KindEndpoints, group: core, namespace: namespace, Large: true,
			Lost: "manually managed Endpoints, their resets and their differences from EndpointSlices are not seen",
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

// Name is the API's name of the resource.
func (r *Resource) Name() string { return r.name }

// Has reports whether an object belongs to the resource. Of the Leases in kube-system only some are read. The API cannot select
// them: a field selector has one name.
func (r *Resource) Has(object event.Object) bool {
	return object.Kind() == r.Kind && (r.Kind != event.KindControlPlaneLease || event.IsControlPlaneLease(object.Metadata().Name))
}

// Group is the API group, empty for the core group.
func (r *Resource) Group() string { return r.group.Group }

// Scope says where the resource is watched, in the words of RBAC.
func (r *Resource) Scope() string {
	if r.namespace == "" {
		return "cluster scope"
	}
	return fmt.Sprintf("namespace %q", r.namespace)
}

// Request prepares a list or a watch.
func (r *Resource) Request(options *metav1.ListOptions) *rest.Request {
	return r.client.Get().
		NamespaceIfScoped(r.namespace, r.namespace != "").
		Resource(r.name).
		VersionedParams(options, r.params)
}

// List returns a page of the list.
func (r *Resource) List(ctx context.Context, options *metav1.ListOptions) (*Page, error) {
	return pageOf(r.Request(options).Do(ctx))
}

// CurrentVersion returns the resourceVersion of the list as it is now. It lists one object at most, and it does not name a
// version: the watch cache ignores the limit at version "0".
func (r *Resource) CurrentVersion(ctx context.Context) (string, error) {
	list, err := pageOf(r.Request(&metav1.ListOptions{Limit: 1}).MaxRetries(0).Do(ctx))
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// Get returns one object, or nil if the API server says that it does not exist. It reads from etcd: without a
// resourceVersion that is a quorum read (apiserver, CacheDelegator.Get).
func (r *Resource) Get(ctx context.Context, name string) (event.Object, error) {
	result := r.Request(&metav1.ListOptions{}).Name(name).MaxRetries(0).Do(ctx)
	got, err := result.Get()
	// A 404 of something else than the API server says nothing (rest.Request, newUnstructuredResponseError).
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, nil
	}
	if i, ok := got.(*Item); ok && err == nil && i.Slim.Kind() == r.Kind {
		return i.Slim, nil
	}
	return nil, unreadableResult(result, err, "an object of "+r.Kind.String())
}

// pageOf returns the page of a list, or an error that shows what was answered instead.
func pageOf(result rest.Result) (*Page, error) {
	got, err := result.Get()
	if page, ok := got.(*Page); ok && err == nil {
		return page, nil
	}
	return nil, unreadableResult(result, err, "a list")
}
