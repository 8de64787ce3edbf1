package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// tolerated is the tolerationSeconds of the pods that may be evicted.
	tolerated = 5 * time.Second
	// outageTolerance is the mean error in seconds that a predicted outage may have: half the default monitor period.
	outageTolerance = 2.5
	// unsureEvictions is the part of all silences for which a prediction may leave open whether a pod is evicted.
	unsureEvictions = 0.25
)

// measured is what happened in one cluster, as counted by the test's own watches.
type measured struct {
	evictions, outages int
	outage             time.Duration
}

// meter counts evictions and outages independently of kubeflap.
type meter struct {
	mu      sync.Mutex
	evicted map[types.UID]bool
	// ready is the number of ready addresses of each Service. since is the start of its current outage.
	ready   map[string]int
	since   map[string]time.Time
	outages int
	outage  time.Duration
}

func newMeter() *meter {
	return &meter{evicted: map[types.UID]bool{}, ready: map[string]int{}, since: map[string]time.Time{}}
}

func (m *meter) measured() measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return measured{len(m.evicted), m.outages, m.outage}
}

// pod counts a pod that the taint eviction controller deletes.
func (m *meter) pod(e watch.Event) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok || pod.DeletionTimestamp == nil {
		return
	}
	for _, x := range pod.Status.Conditions {
		if x.Type == corev1.DisruptionTarget && x.Status == corev1.ConditionTrue && x.Reason == "DeletionByTaintManager" {
			m.mu.Lock()
			m.evicted[pod.UID] = true
			m.mu.Unlock()
		}
	}
}

// slice counts the outages of a Service. Each Service has one slice.
func (m *meter) slice(e watch.Event) {
	slice, ok := e.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	service, ready := slice.Labels[discoveryv1.LabelServiceName], 0
	for _, x := range slice.Endpoints {
		if x.Conditions.Ready == nil || *x.Conditions.Ready {
			ready++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch was := m.ready[service]; {
	case was > 0 && ready == 0:
		m.outages++
		m.since[service] = time.Now()
	case was == 0 && ready > 0 && !m.since[service].IsZero():
		m.outage += time.Since(m.since[service])
		delete(m.since, service)
	}
	m.ready[service] = ready
}

func (c *whatIfCluster) watchPods(ctx context.Context) error {
	w, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	return follow(ctx, w, err, c.meter.pod)
}

func (c *whatIfCluster) watchSlices(ctx context.Context) error {
	w, err := c.Client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	return follow(ctx, w, err, c.meter.slice)
}

// evictable creates a pod on the node of a fault, and returns a function that deletes the pod if it was not evicted. A
// ReplicaSet would replace an evicted pod on the same node, and the replacement would be evicted again.
func (c *whatIfCluster) evictable(ctx context.Context, f fault) (remove func() error, err error) {
	no, seconds, now := false, int64(tolerated/time.Second), int64(0)
	pods := c.Client.CoreV1().Pods(metav1.NamespaceDefault)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("evictable-%s-%d", f.node, f.silent.Milliseconds())},
		Spec: corev1.PodSpec{
			NodeName: f.node, AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create a pod that may be evicted: %w", err)
	}
	return func() error {
		err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}, nil
}

// amount compares the predicted ranges of a number with its values in the other clusters.
type amount struct {
	pairs, right     int
	least, most, got float64
}

func (x *amount) add(y amount) {
	x.pairs, x.right = x.pairs+y.pairs, x.right+y.right
	x.least, x.most, x.got = x.least+y.least, x.most+y.most, x.got+y.got
}

func (x amount) String() string {
	return fmt.Sprintf("right in %d of %d pairs, predicted %.1f to %.1f, got %.1f", x.right, x.pairs, x.least, x.most, x.got)
}

// compare compares a range, widened by a tolerance, with the real value. It describes a miss.
func (x *amount) compare(what string, predicted numberRange, got, tolerance float64) (miss []string) {
	x.add(amount{1, 0, predicted.AtLeast, predicted.AtMost, got})
	if predicted.AtLeast-tolerance <= got && got <= predicted.AtMost+tolerance {
		x.right++
		return nil
	}
	return []string{fmt.Sprintf("predicted %v to %v %s, got %.1f (tolerance %.1f)", predicted.AtLeast, predicted.AtMost, what, got, tolerance)}
}

// compareEffects compares the predicted effects with those in the other cluster. recorded is what kubeflap counts in
// the recording of that cluster.
func (x *tally) compareEffects(p prediction, recorded float64, there measured) {
	row := p.Settings[0]
	x.misses = append(x.misses, x.losses.compare("lost addresses", row.AddressesLost, recorded, 0)...)
	x.misses = append(x.misses, x.evictions.compare("evictions", row.Evictions, float64(there.evictions), 0)...)
	x.misses = append(x.misses, x.outages.compare("outage seconds", row.OutageSeconds, there.outage.Seconds(), outageTolerance*float64(there.outages))...)
}

// checkEffects returns an error unless all numbers are right in all pairs, and most evictions were predicted exactly.
func (x tally) checkEffects() error {
	var errs []error
	for what, y := range map[string]amount{"lost addresses": x.losses, "evictions": x.evictions, "outage seconds": x.outages} {
		if y.right < y.pairs || y.got == 0 {
			errs = append(errs, fmt.Errorf("%s: %s", what, y))
		}
	}
	silences := float64(x.yes + x.no + x.tooClose + x.unknown)
	if open := x.evictions.most - x.evictions.least; open > unsureEvictions*silences {
		errs = append(errs, fmt.Errorf("want at most %.0f %% of %.0f evictions open, got: %s", unsureEvictions*100, silences, x.evictions))
	}
	return errors.Join(errs...)
}
