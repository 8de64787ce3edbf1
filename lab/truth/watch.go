package truth

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	retry "k8s.io/client-go/tools/watch"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// change is a watch event, and the time at which the recorder received it.
type change struct {
	seen   time.Time
	kind   watch.EventType
	object runtime.Object
}

// source is a resource that is listed once, and then watched.
type source struct {
	name    string
	list    func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
	version string
}

// lister has the methods of client-go's typed clients that this package needs.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func newSource[L runtime.Object](name string, client lister[L]) *source {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	return &source{name: name, list: list, watch: client.Watch}
}

func sources(client kubernetes.Interface) []*source {
	core := client.CoreV1()
	return []*source{
		newSource("leases", client.CoordinationV1().Leases(corev1.NamespaceNodeLease)),
		newSource("nodes", core.Nodes()),
		newSource("services", core.Services("")),
		newSource("endpoints", core.Endpoints("")),
		newSource("endpointslices", client.DiscoveryV1().EndpointSlices("")),
		newSource("pods", core.Pods("")),
	}
}

// baseline lists all objects. The watch starts at the resource version of this list.
func (s *source) baseline(ctx context.Context) (changes []change) {
	list := steps.Value(s.list(ctx, metav1.ListOptions{}))
	seen := time.Now()
	s.version = steps.Value(meta.ListAccessor(list)).GetResourceVersion()
	for _, object := range steps.Value(meta.ExtractList(list)) {
		changes = append(changes, change{seen: seen, kind: watch.Added, object: object})
	}
	return changes
}

// WatchWithContext implements cache.WatcherWithContext.
func (s *source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(ctx, options)
}

// follow sends every event after the list, in order and without gaps, until the context ends. It returns an error if it
// may have missed events.
func (s *source) follow(ctx context.Context, to chan<- change) error {
	ctx = logr.NewContext(ctx, logr.Discard()) // scenarios break watches on purpose
	w, err := retry.NewRetryWatcherWithContext(ctx, s.version, s)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.name, err)
	}
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("the recorder missed events of %s: %w", s.name, apierrors.FromObject(event.Object))
		}
		to <- change{seen: time.Now(), kind: event.Type, object: event.Object}
	}
	return nil
}
