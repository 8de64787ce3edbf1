package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// settle is the pause between two changes whose order matters. Without this pause, a watcher could receive them in the
// wrong order if they arrive on different watches.
const settle = 100 * time.Millisecond

// longAgo is the time after which every watcher has seen a change, even on a slow machine.
const longAgo = 2 * time.Second

// waitUntilAllSeen waits until every watcher has seen all changes so far.
func (c *Checks) waitUntilAllSeen(ctx context.Context) error { return c.waitUntilSeen(ctx, time.Now()) }

// waitUntilSeen waits until every watcher has seen a change that was written at the given time. If the change is older
// than longAgo, waitUntilSeen returns immediately. Otherwise, it also waits until kubeflap and the recorder have seen
// the same events.
func (c *Checks) waitUntilSeen(ctx context.Context, written time.Time) error {
	if time.Since(written) > longAgo {
		return nil
	}
	if err := poll.Sleep(ctx, time.Until(written.Add(settle))); err != nil {
		return err
	}
	if c.Truth == nil || c.URL == "" {
		return nil
	}
	return compare.Comparison{Truth: c.Truth, URL: c.URL + "/metrics"}.Seen(ctx, patience)
}

// waitForAgreement waits until kubeflap reports the same counts as the recorder.
func (c *Checks) waitForAgreement(ctx context.Context) error {
	if c.URL == "" {
		return nil
	}
	return compare.Comparison{Truth: c.Truth, URL: c.URL + "/metrics"}.Agree(ctx, patience)
}

type chaosService struct {
	name     string
	uid      types.UID
	selector bool
	publish  bool
	// slices holds the names of the manually managed slices.
	slices []string
	// written is the time of the last manual write of the Service's Endpoints or slices.
	written time.Time
}

func (c *chaos) makeService(ctx context.Context, service *chaosService) error {
	service.selector, service.publish, service.slices = !c.chance(3), false, nil
	var selector map[string]string
	if service.selector {
		selector = map[string]string{"app": pick(c, apps())}
	}
	created, err := c.service(ctx, chaosNamespace, service.name, selector)
	if err != nil {
		return err
	}
	service.uid = created.UID
	return c.waitUntilAllSeen(ctx)
}

// changeService changes, adds or removes the selector, or toggles publishNotReadyAddresses.
func (c *chaos) changeService(ctx context.Context) error {
	service := pick(c, c.services)
	if err := c.waitUntilSeen(ctx, service.written); err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"selector":{"app":%q}}}`, pick(c, apps()))
	switch c.random.IntN(4) {
	case 0:
		service.publish = !service.publish
		patch = fmt.Sprintf(`{"spec":{"publishNotReadyAddresses":%t}}`, service.publish)
	case 1:
		service.selector = false
		patch = `{"spec":{"selector":null}}`
	default:
		if err := c.takeSelector(ctx, service); err != nil {
			return err
		}
	}
	if err := c.patchService(ctx, chaosNamespace, service.name, patch); err != nil {
		return err
	}
	return c.waitUntilAllSeen(ctx)
}

// takeSelector empties manually managed Endpoints before their Service gets a selector. Otherwise, the controller would
// overwrite the Endpoints as soon as the Service has the selector. The new selector and the overwritten Endpoints
// arrive on different watches, so a watcher could not know which of them came first.
func (c *chaos) takeSelector(ctx context.Context, service *chaosService) error {
	if service.selector {
		return nil
	}
	service.selector = true
	if err := c.writeEndpoints(ctx, chaosNamespace, service.name); err != nil {
		return err
	}
	return c.waitUntilAllSeen(ctx)
}

// recreateService deletes a Service and creates it again with the same name. The old slices may still exist then, but
// the old Endpoints must not. Endpoints do not contain the UID of their Service, so a watcher could not tell old
// Endpoints from new ones.
func (c *chaos) recreateService(ctx context.Context) error {
	service := pick(c, c.services)
	if err := c.waitUntilSeen(ctx, service.written); err != nil {
		return err
	}
	if err := c.Client.CoreV1().Services(chaosNamespace).Delete(ctx, service.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	err := poll.Until(ctx, patience, "the Endpoints of the Service to be deleted", func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Endpoints(chaosNamespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + service.name})
		if err != nil {
			return err
		}
		mirrored, err := c.mirrored(ctx, service.name)
		if err != nil {
			return err
		}
		if n := len(list.Items) + mirrored; n > 0 {
			return fmt.Errorf("%d objects still exist", n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.waitUntilAllSeen(ctx); err != nil {
		return err
	}
	return c.makeService(ctx, service)
}

// mirrored returns the number of slices that the mirroring controller created from Endpoints.
func (c *chaos) mirrored(ctx context.Context, service string) (int, error) {
	list, err := c.Client.DiscoveryV1().EndpointSlices(chaosNamespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service + "," +
			discoveryv1.LabelManagedBy + "=endpointslicemirroring-controller.k8s.io",
	})
	if err != nil {
		return 0, fmt.Errorf("list slices: %w", err)
	}
	return len(list.Items), nil
}

// writeByHand writes, empties or deletes Endpoints manually, even if the Service has a selector.
func (c *chaos) writeByHand(ctx context.Context) error {
	service := pick(c, c.services)
	service.written = time.Now()
	if c.chance(5) {
		err := c.Client.CoreV1().Endpoints(chaosNamespace).Delete(ctx, service.name, metav1.DeleteOptions{})
		return err
	}
	var ips []string
	for range c.random.IntN(4) {
		// Choose from only a few addresses, so that removed addresses often come back.
		ips = append(ips, fmt.Sprintf("192.0.2.%d", 10*len(ips)+1+c.random.IntN(3)))
	}
	return c.writeEndpoints(ctx, chaosNamespace, service.name, ips...)
}

// writeSlice creates, rewrites or deletes a slice that no controller manages.
func (c *chaos) writeSlice(ctx context.Context) error {
	service := pick(c, c.services)
	service.written = time.Now()
	client := c.Client.DiscoveryV1().EndpointSlices(chaosNamespace)
	if len(service.slices) > 2 {
		name := service.slices[0]
		service.slices = service.slices[1:]
		return client.Delete(ctx, name, metav1.DeleteOptions{})
	}
	slice := c.newSlice(service)
	if len(service.slices) == 0 || c.chance(3) {
		if _, err := client.Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			return err
		}
		service.slices = append(service.slices, slice.Name)
		return nil
	}
	slice.Name = pick(c, service.slices)
	_, err := client.Update(ctx, slice, metav1.UpdateOptions{})
	return err
}

// newSlice returns a slice that is owned by its Service. The garbage collector deletes it with the Service.
func (c *chaos) newSlice(service *chaosService) *discoveryv1.EndpointSlice {
	name, port := "http", int32(80)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("%s-by-hand-%d", service.name, c.next()),
			Labels: map[string]string{discoveryv1.LabelServiceName: service.name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Service", Name: service.name, UID: service.uid,
			}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	for i := range c.random.IntN(5) {
		slice.Endpoints = append(slice.Endpoints, c.newEndpoint(i))
	}
	return slice
}

// newEndpoint returns an endpoint with random conditions. Some conditions are missing. Half of the endpoints refer to a
// pod, and endpoints in two slices may refer to the same pod.
func (c *chaos) newEndpoint(i int) discoveryv1.Endpoint {
	endpoint := discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("198.51.100.%d", 10*i+1+c.random.IntN(3))}}
	if c.chance(2) {
		uid := types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", 10*i+c.random.IntN(3)))
		endpoint.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: chaosNamespace, Name: string(uid), UID: uid}
	}
	for _, condition := range []**bool{&endpoint.Conditions.Ready, &endpoint.Conditions.Serving, &endpoint.Conditions.Terminating} {
		switch c.random.IntN(3) {
		case 0:
			yes := true
			*condition = &yes
		case 1:
			no := false
			*condition = &no
		}
	}
	return endpoint
}
