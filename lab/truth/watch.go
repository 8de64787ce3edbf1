package truth

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

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

// follow sends every event after the list, in order and without gaps, until the context ends. If the watch breaks, it
// opens a new one at the resource version of the last received event. It returns an error if it may have missed events.
func (s *source) follow(ctx context.Context, to chan<- change) error {
	for ctx.Err() == nil {
		err := s.followOnce(ctx, to)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return fmt.Errorf("the recorder missed events of %s: %w", s.name, err)
		}
		time.Sleep(20 * time.Millisecond) // avoids a busy loop while the API server is down
	}
	return nil
}

func (s *source) followOnce(ctx context.Context, to chan<- change) error {
	w, err := s.watch(ctx, metav1.ListOptions{ResourceVersion: s.version, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		seen := time.Now()
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		object, err := meta.Accessor(event.Object)
		if err != nil {
			return fmt.Errorf("read an event of %s: %w", s.name, err)
		}
		s.version = object.GetResourceVersion()
		if event.Type == watch.Bookmark {
			continue
		}
		to <- change{seen: seen, kind: event.Type, object: event.Object}
	}
	return errors.New("watch ended")
}
