package main

import (
	"context"
	"slices"
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

	"github.com/kubeflap/kubeflap/lab/steps"
)

const (
	// leasePeriod and statusPeriod are the kubelet's defaults.
	leasePeriod  = 10 * time.Second
	statusPeriod = 5 * time.Minute
	// loaders is the maximum number of concurrent requests of one kind, such as Lease renewals.
	loaders = 8
	// readers is the maximum number of concurrent requests before the load begins.
	readers = 32
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

// newLoad reads the cluster's nodes and Leases, and the pods, Endpoints and EndpointSlices that the benchmark changes. It
// renews every Lease once, because a cluster that starts from saved data has only expired ones.
func newLoad(ctx context.Context, size Size, client kubernetes.Interface) *load {
	l := &load{size: size, client: client, apps: make([]*app, min(flappers, size.Services-1))}
	leases := steps.Value(client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{}))
	for i := range leases.Items {
		l.leases = append(l.leases, &leases.Items[i])
	}
	nodes := steps.Value(client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}))
	for i := range nodes.Items {
		l.nodes = append(l.nodes, &nodes.Items[i])
	}
	l.leaseLocks, l.nodeLocks = make([]sync.Mutex, len(l.leases)), make([]sync.Mutex, len(l.nodes))
	steps.Each(ctx, len(l.apps), readers, func(ctx context.Context, i int) { l.apps[i] = l.readApp(ctx, i) })
	l.probe = l.readApp(ctx, size.Services-1)
	steps.Each(ctx, len(l.leases), readers, l.renew)
	return l
}

func (l *load) readApp(ctx context.Context, service int) *app {
	namespace, name := l.size.namespace(service), l.size.service(service)
	a := &app{client: l.client}
	a.endpoints = steps.Value(l.client.CoreV1().Endpoints(namespace).Get(ctx, name, metav1.GetOptions{}))
	a.slice = steps.Value(l.client.DiscoveryV1().EndpointSlices(namespace).Get(ctx, sliceName(name), metav1.GetOptions{}))
	for _, endpoint := range a.slice.Endpoints {
		a.pods = append(a.pods, steps.Value(l.client.CoreV1().Pods(namespace).Get(ctx, endpoint.TargetRef.Name, metav1.GetOptions{})))
	}
	return a
}

// written returns the number of events so far. It ignores node status updates, because they are rare.
func (l *load) written() int64 { return l.renewed.Load() + l.flapped.Load() }

// beat renews Leases and updates node statuses until the context ends.
func (l *load) beat(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return paced(ctx, float64(len(l.leases))/leasePeriod.Seconds(), func(ctx context.Context, i int) { l.renew(ctx, i%len(l.leases)) })
	})
	group.Go(func() error {
		return paced(ctx, float64(len(l.nodes))/statusPeriod.Seconds(), func(ctx context.Context, i int) { l.report(ctx, i%len(l.nodes)) })
	})
	return group.Wait()
}

// renew renews a Lease. It does nothing if the previous renewal is still running. A kubelet does not overlap renewals
// either.
func (l *load) renew(ctx context.Context, i int) {
	if !l.leaseLocks[i].TryLock() {
		return
	}
	defer l.leaseLocks[i].Unlock()
	lease := l.leases[i]
	lease.Spec.RenewTime = new(metav1.NowMicro())
	l.leases[i] = steps.Value(l.client.CoordinationV1().Leases(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{FieldManager: byKubelet}))
	l.renewed.Add(1)
}

// report updates the status of the i-th node, unless the previous update is still running.
func (l *load) report(ctx context.Context, i int) {
	if !l.nodeLocks[i].TryLock() {
		return
	}
	defer l.nodeLocks[i].Unlock()
	node := l.nodes[i]
	for c := range node.Status.Conditions {
		node.Status.Conditions[c].LastHeartbeatTime = metav1.Now()
	}
	l.nodes[i] = steps.Value(l.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{FieldManager: byKubelet}))
}

// flap makes pods not ready and ready again until the context ends. This causes eventsPerSecond events per second.
func (l *load) flap(ctx context.Context, eventsPerSecond float64) error {
	return paced(ctx, eventsPerSecond/eventsPerFlap, func(ctx context.Context, i int) {
		l.apps[i%len(l.apps)].flap(ctx)
		l.flapped.Add(eventsPerFlap)
	})
}

// paced calls the function do repeatedly, until the context ends or a call fails. The rate is perSecond
// calls per second, or lower if the calls take too long.
func paced(ctx context.Context, perSecond float64, do func(ctx context.Context, i int)) error {
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
		group.Go(func() error { return steps.Run(func() { do(writing, i) }) })
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
func (a *app) flap(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, ready := a.turn/2%len(a.pods), a.turn%2 == 1
	a.turn++
	a.writePod(ctx, i, ready)
	a.writeEndpoints(ctx, a.pods[i].Status.PodIP, ready)
	a.writeSlice(ctx, i, ready)
}

func (a *app) writePod(ctx context.Context, i int, ready bool) {
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
	a.pods[i] = steps.Value(a.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: byKubelet}))
}

func (a *app) writeEndpoints(ctx context.Context, ip string, ready bool) {
	subset := &a.endpoints.Subsets[0]
	from, to := &subset.Addresses, &subset.NotReadyAddresses
	if ready {
		from, to = to, from
	}
	i := slices.IndexFunc(*from, func(address corev1.EndpointAddress) bool { return address.IP == ip })
	*to = append(*to, (*from)[i])
	*from = slices.Delete(slices.Clone(*from), i, i+1)
	a.endpoints.Annotations[corev1.EndpointsLastChangeTriggerTime] = time.Now().UTC().Format(time.RFC3339)
	a.endpoints = steps.Value(a.client.CoreV1().Endpoints(a.endpoints.Namespace).Update(ctx, a.endpoints, metav1.UpdateOptions{FieldManager: byControllerManager}))
}

func (a *app) writeSlice(ctx context.Context, i int, ready bool) {
	conditions := &a.slice.Endpoints[i].Conditions
	conditions.Ready, conditions.Serving = &ready, &ready
	a.slice.Annotations[corev1.EndpointsLastChangeTriggerTime] = time.Now().UTC().Format(time.RFC3339)
	a.slice = steps.Value(a.client.DiscoveryV1().EndpointSlices(a.slice.Namespace).Update(ctx, a.slice, metav1.UpdateOptions{FieldManager: byControllerManager}))
}
