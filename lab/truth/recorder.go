// Package truth counts what happens in a cluster, independently of kubeflap.
//
// The recorder counts the documented metrics, and shares no code with the exporter. After each event of a Service, it
// computes all addresses of the Service again and compares them with the previous ones. It is simple, so that its
// results can be trusted.
package truth

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Recorder watches a cluster and counts events.
type Recorder struct {
	mu    sync.Mutex
	state state
	err   error
	began time.Time
}

// state holds the recorder's state.
type state struct {
	// inBaseline is true until all initial lists have been read. The objects in these lists are stored, but not
	// counted.
	inBaseline bool
	facts      []Fact
	counted    Counts

	leases    map[string]*coordinationv1.Lease
	nodes     map[string]*node
	services  map[types.NamespacedName]*service
	slices    map[types.NamespacedName]*discoveryv1.EndpointSlice
	endpoints map[types.NamespacedName]*corev1.Endpoints
	pods      map[types.NamespacedName]*corev1.Pod
}

func newState() state {
	return state{
		inBaseline: true, counted: Counts{},
		leases:    map[string]*coordinationv1.Lease{},
		nodes:     map[string]*node{},
		services:  map[types.NamespacedName]*service{},
		slices:    map[types.NamespacedName]*discoveryv1.EndpointSlice{},
		endpoints: map[types.NamespacedName]*corev1.Endpoints{},
		pods:      map[types.NamespacedName]*corev1.Pod{},
	}
}

// Start returns when it has listed all objects. After that, the recorder counts every event until the context ends.
func Start(ctx context.Context, client kubernetes.Interface) *Recorder {
	r := &Recorder{state: newState()}
	all := sources(client)
	for _, source := range all {
		for _, c := range source.baseline(ctx) {
			r.state.apply(c)
		}
	}
	r.state.inBaseline = false
	r.began = time.Now()
	r.state.noteStart(r.began)

	for _, source := range all {
		go func() {
			err := source.follow(ctx, r.apply)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.err = cmp.Or(r.err, err)
		}()
	}
	return r
}

func (r *Recorder) apply(c change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.apply(c)
}

// Counts returns the current values. It fails if the recorder has missed events, because its counts are not reliable.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	steps.Must(r.err)
	return r.state.counts(time.Now())
}

// Dump returns one line for each counted event.
func (r *Recorder) Dump() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for i := range r.state.facts {
		fmt.Fprintf(&b, "%+v\n", r.state.facts[i])
	}
	return b.String()
}

// Transitions returns the number of facts. It includes the state at the start and transitions of deleted objects, but
// not heartbeats.
func (r *Recorder) Transitions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i := range r.state.facts {
		if !r.state.facts[i].isHeartbeat() {
			n++
		}
	}
	return n
}

func (s *state) apply(c change) {
	gone := c.kind == watch.Deleted
	switch object := c.object.(type) {
	case *coordinationv1.Lease:
		s.applyLease(object, gone, c.seen)
	case *corev1.Node:
		s.applyNode(object, gone, c.seen)
	case *corev1.Service:
		s.applyService(object, gone, c.seen)
	case *discoveryv1.EndpointSlice:
		s.applySlice(object, gone, c.seen)
	case *corev1.Endpoints:
		s.applyEndpoints(object, gone, c.seen)
	case *corev1.Pod:
		s.applyPod(object, gone, c.seen)
	}
}
