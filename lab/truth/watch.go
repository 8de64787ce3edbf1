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
)

// change is one event of one watch, with the moment it was seen.
type change struct {
	seen   time.Time
	kind   watch.EventType
	object runtime.Object
}

// source is one resource to list once and watch from then on.
type source struct {
	name    string
	list    func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
	version string
}

// lister and of save writing the same two closures six times.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func of[L runtime.Object](name string, client lister[L]) *source {
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	}
	return &source{name: name, list: list, watch: client.Watch}
}

func sources(client kubernetes.Interface) []*source {
	core := client.CoreV1()
	return []*source{
		of("leases", client.CoordinationV1().Leases(corev1.NamespaceNodeLease)),
		of("nodes", core.Nodes()),
		of("services", core.Services("")),
		of("endpoints", core.Endpoints("")),
		of("endpointslices", client.DiscoveryV1().EndpointSlices("")),
		of("pods", core.Pods("")),
	}
}

// baseline lists everything that is there and remembers where to go on.
func (s *source) baseline(ctx context.Context) ([]change, error) {
	list, err := s.list(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.name, err)
	}
	seen := time.Now()
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("read the version of the list of %s: %w", s.name, err)
	}
	s.version = accessor.GetResourceVersion()
	objects, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("read the list of %s: %w", s.name, err)
	}
	var changes []change
	for _, object := range objects {
		changes = append(changes, change{seen: seen, kind: watch.Added, object: object})
	}
	return changes, nil
}

// follow sends every event after the baseline, in order and without a gap: a
// broken watch goes on after the last event seen. It returns only when the
// context ends, or with the reason why it may have missed something.
func (s *source) follow(ctx context.Context, to chan<- change) error {
	for ctx.Err() == nil {
		err := s.followOnce(ctx, to)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return fmt.Errorf("the recorder missed events of %s: %w", s.name, err)
		}
		time.Sleep(20 * time.Millisecond) // no busy loop while the server is away
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
