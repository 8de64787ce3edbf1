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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
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
	*cache.ListWatch
	name    string
	version string
}

func sources(client kubernetes.Interface) (all []*source) {
	add := func(client cache.Getter, resource, namespace string) {
		all = append(all, &source{ListWatch: cache.NewListWatchFromClient(client, resource, namespace, fields.Everything()), name: resource})
	}
	add(client.CoordinationV1().RESTClient(), "leases", corev1.NamespaceNodeLease)
	for _, resource := range []string{"nodes", "services", "endpoints"} {
		add(client.CoreV1().RESTClient(), resource, "")
	}
	add(client.DiscoveryV1().RESTClient(), "endpointslices", "")
	add(client.CoreV1().RESTClient(), "pods", "")
	return all
}

// baseline lists all objects. The watch starts at the resource version of this list.
func (s *source) baseline(ctx context.Context) (changes []change) {
	list := steps.Value(s.ListWithContext(ctx, metav1.ListOptions{}))
	seen := time.Now()
	s.version = steps.Value(meta.ListAccessor(list)).GetResourceVersion()
	for _, object := range steps.Value(meta.ExtractList(list)) {
		changes = append(changes, change{seen: seen, kind: watch.Added, object: object})
	}
	return changes
}

// follow applies every event after the list, in order and without gaps, until the context ends. It returns an error if it
// may have missed events.
func (s *source) follow(ctx context.Context, apply func(change)) error {
	ctx = logr.NewContext(ctx, logr.Discard()) // scenarios break watches on purpose
	w, err := retry.NewRetryWatcherWithContext(ctx, s.version, s)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.name, err)
	}
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("the recorder missed events of %s: %w", s.name, apierrors.FromObject(event.Object))
		}
		apply(change{seen: time.Now(), kind: event.Type, object: event.Object})
	}
	return nil
}
