package scenario

import (
	"context"
	"maps"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// batchingClients are clients that batch the changes of a Service's addresses. Each client has a load balancer. After
// the first change, a client waits for its batching window. Then it sets its load balancer to the addresses that are
// ready in the slices.
type batchingClients struct {
	mu sync.Mutex
	// listed holds, by slice and pod, whether the pod's address is ready.
	listed map[string]map[string]bool
	// The map left contains the addresses that have stopped being ready in the slices at least once.
	left map[string]bool
	all  []*batchingClient
}

type batchingClient struct {
	window time.Duration
	// open is true while the client waits for its batching window to end. The map in contains the addresses in its load
	// balancer.
	open bool
	in   map[string]bool
	// stale counts the addresses that the client removed and added again although they were always ready in the slices.
	stale int
}

func newBatchingClients() *batchingClients {
	c := &batchingClients{listed: map[string]map[string]bool{}, left: map[string]bool{}}
	for _, window := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second} {
		c.all = append(c.all, &batchingClient{window: window})
	}
	return c
}

// follow lists and watches the slices of a Service until the steps' context ends.
func (c *batchingClients) follow(l *Lab, namespace, service string) {
	options := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service}
	api := l.Client.DiscoveryV1().EndpointSlices(namespace)
	all := list(l, api, options)
	for i := range all.Items {
		c.listed[all.Items[i].Name] = readinessOf(&all.Items[i])
	}
	for _, x := range c.all {
		x.in = c.ready()
	}
	options.ResourceVersion = all.ResourceVersion
	watching := steps.Value(api.Watch(l.Ctx, options))
	go func() {
		for event := range watching.ResultChan() {
			if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
				c.take(slice, event.Type)
			}
		}
	}()
	context.AfterFunc(l.Ctx, watching.Stop)
}

// readinessOf returns, by pod name, whether the pod's address in a slice is ready.
func readinessOf(slice *discoveryv1.EndpointSlice) map[string]bool {
	addresses := map[string]bool{}
	for _, endpoint := range slice.Endpoints {
		addresses[endpoint.TargetRef.Name] = endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready
	}
	return addresses
}

func (c *batchingClients) ready() map[string]bool {
	ready := map[string]bool{}
	for _, addresses := range c.listed {
		for address, is := range addresses {
			if is {
				ready[address] = true
			}
		}
	}
	return ready
}

// take handles an event of a slice. If the ready addresses change, each client that is not yet waiting starts to wait
// for its batching window.
func (c *batchingClients) take(slice *discoveryv1.EndpointSlice, is watch.EventType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.ready()
	c.listed[slice.Name] = readinessOf(slice)
	if is == watch.Deleted {
		delete(c.listed, slice.Name)
	}
	after := c.ready()
	if maps.Equal(before, after) {
		return
	}
	for address := range before {
		c.left[address] = c.left[address] || !after[address]
	}
	for _, x := range c.all {
		switch {
		case x.window == 0:
			c.apply(x)
		case !x.open:
			x.open = true
			time.AfterFunc(x.window, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.apply(x)
			})
		}
	}
}

// apply sets a client's load balancer to the ready addresses.
func (c *batchingClients) apply(x *batchingClient) {
	x.open = false
	ready := c.ready()
	for address := range ready {
		if !x.in[address] && !c.left[address] {
			x.stale++
		}
	}
	x.in = ready
}

// settled waits until each load balancer has n addresses and no client is batching changes.
func (c *batchingClients) settled(l *Lab, n int) {
	l.Until("the expected addresses in all load balancers", func(l *Lab) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, x := range c.all {
			l.Expect(!x.open && len(x.in) == n, "the load balancer of the client with the window %s has %d addresses; window open: %v", x.window, len(x.in), x.open)
		}
	})
}

// readds returns the clients, each with the number of addresses that it put back too early.
func (c *batchingClients) readds() (all []batchingClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.all {
		all = append(all, *x)
	}
	return all
}
