package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// settle is the pause between two changes whose order matters. Without this pause, a watcher could receive them in the
// wrong order if they arrive on different watches.
const settle = 100 * time.Millisecond

// longAgo is the time after which every watcher has seen a change, even on a slow machine.
const longAgo = 2 * time.Second

// waitUntilSeen waits until every watcher has seen a change that was written at the given time. If the change is older
// than longAgo, waitUntilSeen returns immediately. Otherwise, it also waits until kubeflap and the recorder have seen
// the same events.
func (l *Lab) waitUntilSeen(written time.Time) {
	if time.Since(written) > longAgo {
		return
	}
	l.Sleep(time.Until(written.Add(settle)))
	if l.Truth != nil {
		l.comparison().Seen(l.Ctx, patience)
	}
}

func (l *Lab) comparison() compare.Comparison {
	return compare.Comparison{Truth: l.Truth, URL: l.URL + "/metrics"}
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

func (c *chaos) makeService(service *chaosService) {
	service.selector, service.publish, service.slices = !c.chance(3), false, nil
	var selector map[string]string
	if service.selector {
		selector = map[string]string{"app": pick(c, apps())}
	}
	service.uid = createService(c.Lab, chaosNamespace, service.name, selector).UID
	c.waitUntilSeen(time.Now())
}

// changeService changes, adds or removes the selector, or toggles publishNotReadyAddresses.
func (c *chaos) changeService() {
	service := pick(c, c.services)
	c.waitUntilSeen(service.written)
	patch := fmt.Sprintf(`{"spec":{"selector":{"app":%q}}}`, pick(c, apps()))
	switch c.random.IntN(4) {
	case 0:
		service.publish = !service.publish
		patch = fmt.Sprintf(`{"spec":{"publishNotReadyAddresses":%t}}`, service.publish)
	case 1:
		service.selector = false
		patch = `{"spec":{"selector":null}}`
	default:
		c.takeSelector(service)
	}
	patchService(c.Lab, chaosNamespace, service.name, patch)
	c.waitUntilSeen(time.Now())
}

// takeSelector empties manually managed Endpoints before their Service gets a selector. Otherwise, the controller would
// overwrite the Endpoints as soon as the Service has the selector. The new selector and the overwritten Endpoints
// arrive on different watches, so a watcher could not know which of them came first.
func (c *chaos) takeSelector(service *chaosService) {
	if !service.selector {
		service.selector = true
		writeEndpoints(c.Lab, chaosNamespace, service.name)
		c.waitUntilSeen(time.Now())
	}
}

// recreateService deletes a Service and creates it again with the same name. The old slices may still exist then, but
// the old Endpoints must not. Endpoints do not contain the UID of their Service, so a watcher could not tell old
// Endpoints from new ones.
func (c *chaos) recreateService() {
	service := pick(c, c.services)
	c.waitUntilSeen(service.written)
	removeService(c.Lab, chaosNamespace, service.name)
	c.waitUntilSeen(time.Now())
	c.makeService(service)
}

// writeByHand writes, empties or deletes Endpoints manually, even if the Service has a selector.
func (c *chaos) writeByHand() {
	service := pick(c, c.services)
	service.written = time.Now()
	if c.chance(5) {
		remove(c.Lab, c.Client.CoreV1().Endpoints(chaosNamespace), service.name)
		return
	}
	var ips []string
	for range c.random.IntN(4) {
		// Choose from only a few addresses, so that removed addresses often come back.
		ips = append(ips, fmt.Sprintf("192.0.2.%d", 10*len(ips)+1+c.random.IntN(3)))
	}
	writeEndpoints(c.Lab, chaosNamespace, service.name, ips...)
}

// writeSlice creates, rewrites or deletes a slice that no controller manages.
func (c *chaos) writeSlice() {
	service := pick(c, c.services)
	service.written = time.Now()
	client := c.Client.DiscoveryV1().EndpointSlices(chaosNamespace)
	if len(service.slices) > 2 {
		name := service.slices[0]
		service.slices = service.slices[1:]
		remove(c.Lab, client, name)
		return
	}
	slice := c.newSlice(service)
	if len(service.slices) == 0 || c.chance(3) {
		create(c.Lab, client, slice)
		service.slices = append(service.slices, slice.Name)
		return
	}
	slice.Name = pick(c, service.slices)
	steps.Value(client.Update(c.Ctx, slice, metav1.UpdateOptions{}))
}

// newSlice returns a slice that is owned by its Service. The garbage collector deletes it with the Service.
func (c *chaos) newSlice(service *chaosService) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("%s-by-hand-%d", service.name, c.next()),
			Labels: map[string]string{discoveryv1.LabelServiceName: service.name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Service", Name: service.name, UID: service.uid,
			}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(80))}},
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
			*condition = new(true)
		case 1:
			*condition = new(false)
		}
	}
	return endpoint
}
