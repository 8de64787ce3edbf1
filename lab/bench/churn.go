package bench

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// churnStanding is the number of temporary Services that exist at the same time.
	churnStanding = 60
	// churnPods is the number of pods of each temporary Service.
	churnPods = 3
	// churnNamespaces is the number of namespaces that contain the temporary Services.
	churnNamespaces = 10
	// churnFirst is the number of the first temporary Service. It is higher than the number of any other Service.
	churnFirst = 100_000
	// churnEvents is the number of events per second from flapping pods during the churn.
	churnEvents = 30
	// churnPeriod is the interval at which a new temporary Service replaces the oldest one.
	churnPeriod = time.Second
	// churnSample is the interval between samples. A short run uses a shorter interval, so that it still has
	// churnSamples samples.
	churnSample  = 30 * time.Second
	churnSamples = 20
)

// Churned holds samples of kubeflap that were taken while pods and Services were created and deleted.
type Churned struct {
	Size     Size
	Duration time.Duration
	// Services is the number of Services that were created and deleted.
	Services int
	Samples  []Sample
}

// Sample is one measurement of kubeflap. After is the time from the start of the churn to this measurement.
type Sample struct {
	After time.Duration
	// Memory is the resident memory in bytes. Heap is the heap size in bytes at which the next garbage collection
	// starts. CPUPerMinute is the CPU time per minute, in seconds.
	Memory, Heap, CPUPerMinute, Series, Goroutines float64
}

// churn measures kubeflap while temporary Services and their pods are created and deleted. Each of these objects has a
// new name.
func (o Options) churn(ctx context.Context, size Size, d time.Duration) (Churned, error) {
	churned := Churned{Size: size, Duration: d}
	data, err := o.populated(ctx, size)
	if err != nil {
		return churned, err
	}
	return churned, withLoad(ctx, o.Log, size, data, func(ctx context.Context, c *cluster.Cluster, l *load) error {
		t := &tide{size: Size{Nodes: size.Nodes, Pods: churnPods << 20, Services: 1 << 20}, client: l.client}
		if err := t.begin(ctx); err != nil {
			return err
		}
		r, err := newProgram(Kubeflap, binaries{kubeflap: o.Kubeflap}).start(c)
		if err != nil {
			return err
		}
		defer r.process.Stop()
		if _, err := r.untilSynced(ctx, size); err != nil {
			return err
		}
		ctx, stop := context.WithTimeout(ctx, d)
		defer stop()
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return paced(ctx, 1/churnPeriod.Seconds(), t.turn) })
		group.Go(func() error { return l.flap(ctx, churnEvents) })
		group.Go(func() (err error) {
			churned.Samples, err = r.sample(ctx, min(churnSample, d/churnSamples))
			return err
		})
		err = group.Wait()
		churned.Services = int(t.gone.Load())
		return err
	})
}

// sample measures the program once per period, until the context ends.
func (r *running) sample(ctx context.Context, period time.Duration) (samples []Sample, err error) {
	last, err := r.usage()
	if err != nil {
		return nil, err
	}
	begin := last.at
	for poll.Sleep(ctx, period) == nil {
		used, err := r.usage()
		if err != nil {
			return nil, err
		}
		s := Sample{After: used.at.Sub(begin), Memory: used.rss, CPUPerMinute: (used.cpu - last.cpu) / used.at.Sub(last.at).Minutes()}
		last = used
		err = r.eachLine(context.WithoutCancel(ctx), r.url+"/metrics", func(line []byte) {
			if len(line) == 0 || line[0] == '#' {
				return
			}
			s.Series++
			switch name, value, _ := bytes.Cut(line, []byte(" ")); string(name) {
			case "go_memstats_next_gc_bytes":
				s.Heap, _ = strconv.ParseFloat(string(value), 64)
			case "go_goroutines":
				s.Goroutines, _ = strconv.ParseFloat(string(value), 64)
			}
		})
		if err != nil {
			return nil, err
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// tide creates and deletes temporary Services with their pods.
type tide struct {
	size   Size
	client kubernetes.Interface
	gone   atomic.Int64
}

// begin creates the namespaces and the first churnStanding temporary Services.
func (t *tide) begin(ctx context.Context) error {
	for i := range churnNamespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: churnNamespace(i)}}
		if _, err := t.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a namespace: %w", err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range churnStanding {
		group.Go(func() error { return t.createService(ctx, i) })
	}
	return group.Wait()
}

func churnNamespace(i int) string { return fmt.Sprintf("churn-%d", i%churnNamespaces) }

// turn creates a temporary Service and deletes the oldest one.
func (t *tide) turn(ctx context.Context, i int) error {
	if err := t.createService(ctx, churnStanding+i); err != nil {
		return err
	}
	return t.deleteService(ctx, i)
}

func (t *tide) objects(i int) (*corev1.Service, []int) {
	service := t.size.serviceObject(churnFirst + i)
	service.Namespace = churnNamespace(i)
	var pods []int
	for pod := range churnPods {
		pods = append(pods, (churnFirst+i)*churnPods+pod)
	}
	return service, pods
}

func (t *tide) createService(ctx context.Context, i int) error {
	service, pods := t.objects(i)
	var members []member
	for _, p := range pods {
		object := t.size.podObject(p)
		object.Namespace = service.Namespace
		pod, err := writePod(ctx, t.client, object)
		if err != nil {
			return fmt.Errorf("create pod %s/%s: %w", object.Namespace, object.Name, err)
		}
		members = append(members, t.size.member(p, pod.UID))
	}
	if err := writeService(ctx, t.client, service, members); err != nil {
		return fmt.Errorf("create Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

func (t *tide) deleteService(ctx context.Context, i int) error {
	service, pods := t.objects(i)
	namespace, now := service.Namespace, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for _, p := range pods {
		if err := t.client.CoreV1().Pods(namespace).Delete(ctx, t.size.pod(p), now); err != nil {
			return fmt.Errorf("delete a pod: %w", err)
		}
	}
	if err := t.client.DiscoveryV1().EndpointSlices(namespace).Delete(ctx, sliceName(service.Name), now); err != nil {
		return fmt.Errorf("delete an EndpointSlice: %w", err)
	}
	if err := t.client.CoreV1().Endpoints(namespace).Delete(ctx, service.Name, now); err != nil {
		return fmt.Errorf("delete Endpoints: %w", err)
	}
	if err := t.client.CoreV1().Services(namespace).Delete(ctx, service.Name, now); err != nil {
		return fmt.Errorf("delete a Service: %w", err)
	}
	t.gone.Add(1)
	return nil
}
