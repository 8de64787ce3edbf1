package scenario

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// probes is an HTTP server that answers the kubelets' probes of all pods, because the lab's containers run no process.
// Probes succeed until the method set makes them fail.
type probes struct {
	port int

	mu      sync.Mutex
	failing map[string]bool
	// asked counts the probes of each kind and pod.
	asked map[string]int
}

func newProbes() *probes { return &probes{failing: map[string]bool{}, asked: map[string]int{}} }

// serve answers probes until the steps' context ends.
func (p *probes) serve(l *Lab) {
	listener := steps.Value(net.Listen("tcp", "127.0.0.1:0"))
	p.port = listener.Addr().(*net.TCPAddr).Port
	go func() { _ = http.Serve(listener, p) }() // returns when the listener is closed
	context.AfterFunc(l.Ctx, func() { _ = listener.Close() })
}

func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[r.URL.Path]++
	if p.failing[r.URL.Path] {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// set makes a pod's probe of the given kind fail or succeed.
func (p *probes) set(kind, pod string, failing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing[probePath(kind, pod)] = failing
}

// waitForProbes waits until the kubelets have sent another readiness probe to each pod that they have probed so far.
func (p *probes) waitForProbes(l *Lab) {
	before := p.counts()
	l.Until("probes", func(l *Lab) {
		now := p.counts()
		for path, n := range before {
			l.Expect(now[path] > n, "%s was not probed", path)
		}
	})
}

func (p *probes) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.asked)
}

func probePath(kind, pod string) string { return "/" + kind + "/" + pod }

// These are the kinds of probes.
const (
	readiness = "readiness"
	liveness  = "liveness"
)

// ready gives a pod a readiness probe with failureThreshold 1.
func (p *probes) ready(pod *corev1.Pod) {
	pod.Spec.Containers[0].ReadinessProbe = p.probe(readiness, pod.Name)
}

// readyAndLive adds a readiness probe and a liveness probe.
func (p *probes) readyAndLive(pod *corev1.Pod) {
	p.ready(pod)
	pod.Spec.Containers[0].LivenessProbe = p.probe(liveness, pod.Name)
}

func (p *probes) probe(kind, pod string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Host: "127.0.0.1", Port: intstr.FromInt(p.port), Path: probePath(kind, pod),
		}},
		// The timeout is long, so that a slow response does not fail the probe.
		PeriodSeconds: 1, FailureThreshold: 1, TimeoutSeconds: 60,
	}
}
