package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// leasePeriod and statusPeriod are the kubelet's defaults.
	leasePeriod  = 10 * time.Second
	statusPeriod = 5 * time.Minute
	// loaders is the maximum number of concurrent requests of one kind, such as Lease renewals.
	loaders = 8
	// flappers is the maximum number of Services that flap. The bench keeps these Services in memory.
	flappers = 300
	// eventsPerFlap is 3, because a flap changes a pod, its Endpoints and its EndpointSlice.
	eventsPerFlap = 3
)

// load updates objects as the kubelets and controllers of a real cluster do.
type load struct {
	size   Size
	client kubernetes.Interface
	// leases and nodes hold the latest versions of the objects. The lock of an object is held during each write.
	leases                []*coordinationv1.Lease
	nodes                 []*corev1.Node
	leaseLocks, nodeLocks []sync.Mutex
	apps                  []*app
	// probe is the Service whose readiness the latency measurement changes. Nothing else changes this Service.
	probe *app
	// renewed is the number of Lease renewals so far. flapped is the number of events from flapping pods so far.
	renewed, flapped atomic.Int64
}

// newLoad reads the cluster's nodes and Leases.
func newLoad(ctx context.Context, size Size, client kubernetes.Interface) (*load, error) {
	l := &load{size: size, client: client}
	leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	for i := range leases.Items {
		l.leases = append(l.leases, &leases.Items[i])
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		l.nodes = append(l.nodes, &nodes.Items[i])
	}
	l.leaseLocks, l.nodeLocks = make([]sync.Mutex, len(l.leases)), make([]sync.Mutex, len(l.nodes))
	return l, nil
}

// readApps reads the pods, Endpoints and EndpointSlices that the benchmark changes.
func (l *load) readApps(ctx context.Context) error {
	l.apps = make([]*app, min(flappers, l.size.Services-1))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range l.apps {
		group.Go(func() (err error) {
			l.apps[i], err = l.readApp(ctx, i)
			return err
		})
	}
	group.Go(func() (err error) {
		l.probe, err = l.readApp(ctx, l.size.Services-1)
		return err
	})
	return group.Wait()
}

func (l *load) readApp(ctx context.Context, service int) (*app, error) {
	namespace, name := l.size.namespace(service), l.size.service(service)
	a := &app{client: l.client}
	var err error
	if a.endpoints, err = l.client.CoreV1().Endpoints(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("read Endpoints %s/%s: %w", namespace, name, err)
	}
	slice := sliceName(name)
	if a.slice, err = l.client.DiscoveryV1().EndpointSlices(namespace).Get(ctx, slice, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("read EndpointSlice %s/%s: %w", namespace, slice, err)
	}
	for _, endpoint := range a.slice.Endpoints {
		pod, err := l.client.CoreV1().Pods(namespace).Get(ctx, endpoint.TargetRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read pod %s/%s: %w", namespace, endpoint.TargetRef.Name, err)
		}
		a.pods = append(a.pods, pod)
	}
	return a, nil
}

// written returns the number of events so far. It ignores node status updates, because they are rare.
func (l *load) written() int64 { return l.renewed.Load() + l.flapped.Load() }

// renewAll renews every Lease once. If the cluster starts from saved data, all its Leases have expired.
func (l *load) renewAll(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range l.leases {
		group.Go(func() error { return l.renew(ctx, i) })
	}
	return group.Wait()
}

// beat renews Leases and updates node statuses until the context ends.
func (l *load) beat(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return paced(ctx, float64(len(l.leases))/leasePeriod.Seconds(), func(ctx context.Context, i int) error { return l.renew(ctx, i%len(l.leases)) })
	})
	group.Go(func() error {
		return paced(ctx, float64(len(l.nodes))/statusPeriod.Seconds(), func(ctx context.Context, i int) error { return l.report(ctx, i%len(l.nodes)) })
	})
	return group.Wait()
}

// renew renews a Lease. It does nothing if the previous renewal is still running. A kubelet does not overlap renewals
// either.
func (l *load) renew(ctx context.Context, i int) error {
	if !l.leaseLocks[i].TryLock() {
		return nil
	}
	defer l.leaseLocks[i].Unlock()
	lease := l.leases[i]
	lease.Spec.RenewTime = new(metav1.NowMicro())
	updated, err := l.client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{FieldManager: byKubelet})
	if err != nil {
		return fmt.Errorf("renew lease %s: %w", lease.Name, err)
	}
	l.leases[i] = updated
	l.renewed.Add(1)
	return nil
}

// report updates the status of the i-th node, unless the previous update is still running.
func (l *load) report(ctx context.Context, i int) error {
	if !l.nodeLocks[i].TryLock() {
		return nil
	}
	defer l.nodeLocks[i].Unlock()
	node := l.nodes[i]
	for c := range node.Status.Conditions {
		node.Status.Conditions[c].LastHeartbeatTime = metav1.Now()
	}
	updated, err := l.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{FieldManager: byKubelet})
	if err != nil {
		return fmt.Errorf("report node %s: %w", node.Name, err)
	}
	l.nodes[i] = updated
	return nil
}

// flap makes pods not ready and ready again until the context ends. This causes eventsPerSecond events per second.
func (l *load) flap(ctx context.Context, eventsPerSecond float64) error {
	return paced(ctx, eventsPerSecond/eventsPerFlap, func(ctx context.Context, i int) error {
		if err := l.apps[i%len(l.apps)].flap(ctx); err != nil {
			return err
		}
		l.flapped.Add(eventsPerFlap)
		return nil
	})
}

// paced calls the function do repeatedly, until the context ends or a call returns an error. The rate is perSecond
// calls per second, or lower if the calls take too long.
func paced(ctx context.Context, perSecond float64, do func(ctx context.Context, i int) error) error {
	if perSecond <= 0 {
		return nil
	}
	// Do not cancel a request that has been sent. Otherwise, the local copy of its object could be outdated.
	writing := context.WithoutCancel(ctx)
	// If requests are late, catch up with a burst of at most the requests that are due in 0.1 s.
	limiter := rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	for i := 0; limiter.Wait(ctx) == nil; i++ {
		group.Go(func() error { return do(writing, i) })
	}
	return group.Wait()
}

// app holds the latest versions of a Service's pods, Endpoints and EndpointSlice.
type app struct {
	client    kubernetes.Interface
	mu        sync.Mutex
	pods      []*corev1.Pod
	endpoints *corev1.Endpoints
	slice     *discoveryv1.EndpointSlice
	turn      int
}

// flap makes a pod and its address not ready. The next call makes both ready again.
func (a *app) flap(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, ready := a.turn/2%len(a.pods), a.turn%2 == 1
	a.turn++
	if err := a.writePod(ctx, i, ready); err != nil {
		return err
	}
	if err := a.writeEndpoints(ctx, a.pods[i].Status.PodIP, ready); err != nil {
		return err
	}
	return a.writeSlice(ctx, i, ready)
}

func (a *app) writePod(ctx context.Context, i int, ready bool) error {
	pod := a.pods[i]
	status, reason, message := corev1.ConditionTrue, "", ""
	if !ready {
		status, reason, message = corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: [app]"
	}
	for c := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[c]
		if condition.Type == corev1.PodReady || condition.Type == corev1.ContainersReady {
			condition.Status, condition.Reason, condition.Message, condition.LastTransitionTime = status, reason, message, metav1.Now()
		}
	}
	pod.Status.ContainerStatuses[0].Ready = ready
	updated, err := a.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: byKubelet})
	if err != nil {
		return fmt.Errorf("write the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	a.pods[i] = updated
	return nil
}

func (a *app) writeEndpoints(ctx context.Context, ip string, ready bool) error {
	subset := &a.endpoints.Subsets[0]
	from, to := &subset.Addresses, &subset.NotReadyAddresses
	if ready {
		from, to = to, from
	}
	for i, address := range *from {
		if address.IP == ip {
			*from = append((*from)[:i:i], (*from)[i+1:]...)
			*to = append(*to, address)
			break
		}
	}
	a.endpoints.Annotations[corev1.EndpointsLastChangeTriggerTime] = time.Now().UTC().Format(time.RFC3339)
	updated, err := a.client.CoreV1().Endpoints(a.endpoints.Namespace).Update(ctx, a.endpoints, metav1.UpdateOptions{FieldManager: byControllerManager})
	if err != nil {
		return fmt.Errorf("write Endpoints %s/%s: %w", a.endpoints.Namespace, a.endpoints.Name, err)
	}
	a.endpoints = updated
	return nil
}

func (a *app) writeSlice(ctx context.Context, i int, ready bool) error {
	conditions := &a.slice.Endpoints[i].Conditions
	conditions.Ready, conditions.Serving = &ready, &ready
	a.slice.Annotations[corev1.EndpointsLastChangeTriggerTime] = time.Now().UTC().Format(time.RFC3339)
	updated, err := a.client.DiscoveryV1().EndpointSlices(a.slice.Namespace).Update(ctx, a.slice, metav1.UpdateOptions{FieldManager: byControllerManager})
	if err != nil {
		return fmt.Errorf("write EndpointSlice %s/%s: %w", a.slice.Namespace, a.slice.Name, err)
	}
	a.slice = updated
	return nil
}
