package scenario

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// vanishing is a Service that is deleted during the gap, and recreated is one that is deleted and created again.
	vanishing, recreated = "vanishing", "recreated"
	// edgeNode is a node without a kubelet, which is deleted during the gap.
	edgeNode = "edge-1"
)

// relist is a gap in kubeflap's watches in which objects vanish. Afterwards, kubeflap must list everything, because the
// API server answers 410.
func relist(release cluster.Release) Scenario {
	return Scenario{
		Name:    "relist",
		Summary: "kubeflap's watches expire, and objects are deleted and recreated before it lists again",
		Options: cluster.Options{
			Release: release, Nodes: 2, ControllerManagerPod: true,
			// The node without a kubelet must not be marked.
			ControllerManagerFlags: []string{"--node-monitor-grace-period=1h", "--node-startup-grace-period=1h"},
		},
		LossesBy: "readiness_gate",
		Proxied:  true,
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spreadGated(ctx) },
				func() error { return l.createNode(ctx, edgeNode) },
				func() error { return l.makeManual(ctx, vanishing, "192.0.2.1", "192.0.2.2") },
				func() error { return l.makeManual(ctx, recreated, "192.0.2.3", "192.0.2.4") },
			)
		},
		Run:   func(ctx context.Context, l *Lab) error { return l.flapEverything(ctx) },
		Blind: func(ctx context.Context, l *Lab) error { return l.changeUnseen(ctx) },
	}
}

// makeManual creates a Service without a selector, with manually managed Endpoints.
func (l *Lab) makeManual(ctx context.Context, name string, ips ...string) error {
	return allOf(
		func() error { _, err := l.service(ctx, "shop", name, nil); return err },
		func() error { return l.writeEndpoints(ctx, "shop", name, ips...) },
		func() error { return l.waitForReadyAddresses(ctx, "shop", name, len(ips)) },
	)
}

// changeUnseen expires kubeflap's watches, and lets it list again when the objects have changed.
func (l *Lab) changeUnseen(ctx context.Context) error {
	if l.Proxy == nil {
		return errors.New("the scenario needs a kubeflap behind a proxy")
	}
	if err := poll.Sleep(ctx, afterglow); err != nil {
		return err
	}
	l.Proxy.Answer(http.StatusGone)
	err := allOf(
		func() error { return l.deleteService(ctx, vanishing) },
		func() error { return l.deleteService(ctx, recreated) },
		func() error { return l.makeManual(ctx, recreated, "192.0.2.4", "192.0.2.5", "192.0.2.6") },
		func() error { return l.deleteNodes(ctx, edgeNode) },
		func() error { return poll.Sleep(ctx, 5*time.Second) },
	)
	l.Proxy.Answer(0)
	return errors.Join(err, l.waitForRecoveredWatches(ctx),
		poll.Until(ctx, patience, "kubeflap to be ready", func(ctx context.Context) error { return compare.Ready(ctx, l.URL) }),
		poll.Sleep(ctx, catchUp))
}

// deleteService deletes a Service, and waits until its Endpoints are gone.
func (l *Lab) deleteService(ctx context.Context, name string) error {
	if err := l.Client.CoreV1().Services("shop").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return poll.Until(ctx, patience, "the Endpoints of "+name+" to be deleted", func(ctx context.Context) error {
		list, err := l.Client.CoreV1().Endpoints("shop").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return err
		}
		if len(list.Items) > 0 {
			return errors.New("they still exist")
		}
		return nil
	})
}
