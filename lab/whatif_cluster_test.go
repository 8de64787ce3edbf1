package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// whatIfCluster is a cluster whose events are recorded.
type whatIfCluster struct {
	*cluster.Cluster
	record *cluster.Process
	meter  *meter

	mu sync.Mutex
	// beats sends each node's next heartbeat to a waiting goroutine.
	beats map[string]chan time.Time
	// unknown holds the times at which each node turned Unknown.
	unknown map[string][]time.Time
	status  map[string]corev1.ConditionStatus
}

func startWhatIf(t *testing.T, kubeflap string, grace, monitor time.Duration, recording string) (*whatIfCluster, error) {
	started, err := cluster.Start(t.Context(), cluster.Options{
		Nodes: whatIfNodes, ControllerManagerPod: true, Log: logger(t),
		ControllerManagerFlags: []string{"--node-monitor-grace-period=" + grace.String(), "--node-monitor-period=" + monitor.String()},
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(started.Stop)
	c := &whatIfCluster{Cluster: started, meter: newMeter(), beats: map[string]chan time.Time{}, unknown: map[string][]time.Time{}, status: map[string]corev1.ConditionStatus{}}
	if err := serveOnEachNode(t.Context(), started); err != nil {
		return nil, err
	}
	c.record, err = cluster.StartProcess("record", started.LogPath("record"), cluster.Command{Path: kubeflap, Args: []string{"record", recording, "--kubeconfig=" + started.Kubeconfig}})
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.record.Stop)
	return c, c.record.Until(t.Context(), time.Minute, "the recording to begin", func(context.Context) error {
		text, err := os.ReadFile(recording)
		if err == nil && strings.Count(string(text), `"type":"synced"`) < 6 {
			err = errors.New("not all resources are listed")
		}
		return err
	})
}

// run runs the faults, and returns the results.
func (c *whatIfCluster) run(ctx context.Context, script map[string][]fault) ([]happened, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watches, watching := errgroup.WithContext(watching)
	watches.Go(func() error { return c.watchLeases(watching) })
	watches.Go(func() error { return c.watchNodes(watching) })
	watches.Go(func() error { return c.watchPods(watching) })
	watches.Go(func() error { return c.watchSlices(watching) })
	if err := poll.Sleep(ctx, recovery); err != nil {
		return nil, err
	}
	var all []happened
	nodes, ctx := errgroup.WithContext(ctx)
	for node, faults := range script {
		nodes.Go(func() error {
			for _, f := range faults {
				h, err := c.silence(ctx, f)
				if err != nil {
					return fmt.Errorf("%s: %w", node, err)
				}
				c.mu.Lock()
				all = append(all, h)
				c.mu.Unlock()
			}
			return nil
		})
	}
	if err := nodes.Wait(); err != nil {
		return nil, err
	}
	stop()
	if err := watches.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	for i, h := range all {
		for _, t := range c.unknown[h.node] {
			all[i].unknown = all[i].unknown || t.After(h.from) && t.Before(h.to.Add(2*time.Second))
		}
	}
	return all, c.record.Terminate(context.WithoutCancel(ctx))
}

// silence pauses a kubelet after its next heartbeat, and resumes it at the end of the silence.
func (c *whatIfCluster) silence(ctx context.Context, f fault) (happened, error) {
	h := happened{fault: f}
	remove, err := c.evictable(ctx, f)
	if err != nil {
		return h, err
	}
	from, err := wait(ctx, c.nextBeat(f.node))
	if err != nil {
		return h, err
	}
	// The kubelet's next interval only begins when it has received the answer. If it were paused earlier, it would
	// renew one interval after it resumes.
	if err := poll.Sleep(ctx, time.Second); err != nil {
		return h, err
	}
	kubelet := c.Kubelets[f.node]
	if err := kubelet.Pause(); err != nil {
		return h, err
	}
	if err := poll.Sleep(ctx, time.Until(from.Add(f.silent))); err != nil {
		return h, err
	}
	next := c.nextBeat(f.node)
	if err := kubelet.Resume(); err != nil {
		return h, err
	}
	to, err := wait(ctx, next)
	h.from, h.to = from, to
	if err != nil {
		return h, err
	}
	if err := poll.Sleep(ctx, recovery); err != nil {
		return h, err
	}
	return h, remove()
}

// nextBeat returns a channel with the time of the node's next heartbeat.
func (c *whatIfCluster) nextBeat(node string) <-chan time.Time {
	beat := make(chan time.Time, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beats[node] = beat
	return beat
}

func wait(ctx context.Context, beat <-chan time.Time) (time.Time, error) {
	select {
	case t := <-beat:
		return t, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(time.Minute):
		return time.Time{}, errors.New("no heartbeat for a minute")
	}
}

func (c *whatIfCluster) watchLeases(ctx context.Context) error {
	w, err := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Watch(ctx, metav1.ListOptions{})
	return follow(ctx, w, err, func(e watch.Event) {
		o, ok := e.Object.(metav1.Object)
		if !ok || e.Type != watch.Modified {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if beat := c.beats[o.GetName()]; beat != nil {
			beat <- time.Now()
			delete(c.beats, o.GetName())
		}
	})
}

// watchNodes records the nodes that turn Unknown, independently of kubeflap.
func (c *whatIfCluster) watchNodes(ctx context.Context) error {
	w, err := c.Client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	return follow(ctx, w, err, func(e watch.Event) {
		node, ok := e.Object.(*corev1.Node)
		if !ok {
			return
		}
		for _, x := range node.Status.Conditions {
			if x.Type != corev1.NodeReady {
				continue
			}
			if was := c.status[node.Name]; was == corev1.ConditionTrue && x.Status == corev1.ConditionUnknown {
				c.unknown[node.Name] = append(c.unknown[node.Name], time.Now())
			}
			c.status[node.Name] = x.Status
		}
	})
}

// follow calls note for each event until the context ends. The API server ends no watch within the first 30 minutes
// (--min-request-timeout).
func follow(ctx context.Context, w watch.Interface, err error, note func(watch.Event)) error {
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.ResultChan():
			if !ok {
				if ctx.Err() != nil {
					return nil
				}
				return errors.New("the API server ended a watch")
			}
			note(e)
		}
	}
}
