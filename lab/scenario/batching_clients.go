package scenario

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeflap/kubeflap/lab/poll"
)

// batchingClients are clients of a Service, each with a load balancer. A client collects the changes of a window and then makes the
// addresses that the slices list as ready then those of its load balancer.
type batchingClients struct {
	mu sync.Mutex
	// listed are the addresses of each slice, and whether they are ready.
	listed map[string]map[string]bool
	// left are the addresses that were seen to leave since they were taken out.
	left map[string]bool
	all  []*batchingClient
}

type batchingClient struct {
	window time.Duration
	// open: a window is open. in are the addresses of the load balancer.
	open bool
	in   map[string]bool
	// stale counts the addresses that were put back although they had not left since they were taken out.
	stale int
}

func newBatchingClients() *batchingClients {
	c := &batchingClients{listed: map[string]map[string]bool{}, left: map[string]bool{}}
	for _, window := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second} {
		c.all = append(c.all, &batchingClient{window: window})
	}
	return c
}

// follow lists and watches the slices of a Service until the context ends.
func (c *batchingClients) follow(ctx context.Context, client kubernetes.Interface, namespace, service string) error {
	options := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service}
	api := client.DiscoveryV1().EndpointSlices(namespace)
	list, err := api.List(ctx, options)
	if err != nil {
		return fmt.Errorf("list slices: %w", err)
	}
	for i := range list.Items {
		c.listed[list.Items[i].Name] = readinessOf(&list.Items[i])
	}
	for _, x := range c.all {
		x.in = c.ready()
	}
	options.ResourceVersion = list.ResourceVersion
	watching, err := api.Watch(ctx, options)
	if err != nil {
		return fmt.Errorf("watch slices: %w", err)
	}
	go func() {
		for event := range watching.ResultChan() {
			if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
				c.take(slice, event.Type)
			}
		}
	}()
	context.AfterFunc(ctx, watching.Stop)
	return nil
}

// readinessOf is the readiness of the addresses of a slice, by the names of their pods.
func readinessOf(slice *discoveryv1.EndpointSlice) map[string]bool {
	addresses := map[string]bool{}
	for _, endpoint := range slice.Endpoints {
		addresses[endpoint.TargetRef.Name] = endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready
	}
	return addresses
}

// ready are the addresses that are listed as ready.
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

// take handles an event of a slice. The first change opens a window.
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

// apply makes the ready addresses those of a client's load balancer.
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

// takeOut takes the batch out at the load balancers, as the upgrade does before it changes images.
func (c *batchingClients) takeOut() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.all {
		if x.open {
			return fmt.Errorf("the client that batches for %s is at work already", x.window)
		}
		for i := range batch {
			delete(x.in, podName(i))
		}
	}
	return nil
}

// settled waits until all clients have that many addresses in their load balancers, and no window is open.
func (c *batchingClients) settled(ctx context.Context, n int) error {
	return poll.Until(ctx, patience, "all load balancers to have all addresses", func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, x := range c.all {
			if x.open || len(x.in) != n {
				return fmt.Errorf("that of the client that batches for %s has %d, open %v", x.window, len(x.in), x.open)
			}
		}
		return nil
	})
}

// readdsBy are the stale re-adds of the client with a window.
type readdsBy struct {
	window time.Duration
	stale  int
}

// readds are the stale re-adds that the clients made, by window.
func (c *batchingClients) readds() (all []readdsBy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.all {
		all = append(all, readdsBy{x.window, x.stale})
	}
	return all
}
