package scenario

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// patience is the timeout for an expected state, even on a slow machine.
const patience = 3 * time.Minute

// Lab contains what a scenario needs. A step that fails ends the steps of Play, as with testing.T.
type Lab struct {
	// Ctx is the context of the steps. Play gives it to them.
	Ctx     context.Context
	Cluster *cluster.Cluster
	Client  kubernetes.Interface
	// Truth is nil during Prepare.
	Truth *truth.Recorder
	// URL is kubeflap's URL. It is empty during Prepare.
	URL string
	// Proxy connects kubeflap to the API server. It is nil unless Scenario.Proxied is set.
	Proxy *proxy.Proxy
	Log   *slog.Logger
	// Fired waits until an alert of the scenario fires. Fired is nil unless Scenario.Alerts are checked.
	Fired func(ctx context.Context, alert string) error
	// Seed makes the random scenario repeatable.
	Seed uint64
}

// Play runs steps until one fails. It returns the error of that step.
func (l *Lab) Play(ctx context.Context, play func(*Lab)) error {
	playing := *l
	playing.Ctx = ctx
	return steps.Run(func() { play(&playing) })
}

// Must fails if one of the errors is not nil.
func (l *Lab) Must(errs ...error) { steps.Must(errs...) }

// Expect fails with the given message unless ok is set.
func (l *Lab) Expect(ok bool, format string, args ...any) {
	if !ok {
		l.Must(fmt.Errorf(format, args...))
	}
}

// Part runs steps, and adds a name to the error of a step that fails.
func (l *Lab) Part(name string, steps func(*Lab)) {
	if err := l.Play(l.Ctx, steps); err != nil {
		l.Must(fmt.Errorf("%s: %w", name, err))
	}
}

// within repeats steps until none of them fails. It returns an error after the timeout.
func (l *Lab) within(timeout time.Duration, what string, steps func(*Lab)) error {
	return poll.Until(l.Ctx, timeout, what, func(ctx context.Context) error { return l.Play(ctx, steps) })
}

// Until repeats steps until none of them fails.
func (l *Lab) Until(what string, steps func(*Lab)) { l.Must(l.within(patience, what, steps)) }

// retry runs a fault until the steps of happened do not fail within a grace period, up to eight times: whether it has an effect
// can depend on a race in the control plane.
func (l *Lab) retry(fault func(*Lab), what string, happened func(*Lab)) {
	var err error
	for range 8 {
		fault(l)
		if err = l.within(grace, what, happened); err == nil || l.Ctx.Err() != nil {
			break
		}
		l.Log.Info("the fault had no effect; trying again", "err", err)
	}
	l.Must(err)
}

// Sleep waits for the duration of a fault. To wait for a state, use Until.
func (l *Lab) Sleep(d time.Duration) { l.Must(poll.Sleep(l.Ctx, d)) }

// The following functions call a method of one of client-go's typed clients.

func get[T any](l *Lab, client interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
}, name string,
) T {
	return steps.Value(client.Get(l.Ctx, name, metav1.GetOptions{}))
}

func list[T any](l *Lab, client interface {
	List(context.Context, metav1.ListOptions) (T, error)
}, options metav1.ListOptions,
) T {
	return steps.Value(client.List(l.Ctx, options))
}

func create[T any](l *Lab, client interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
}, object T,
) T {
	return steps.Value(client.Create(l.Ctx, object, metav1.CreateOptions{}))
}

// remove deletes an object, which must exist.
func remove(l *Lab, client interface {
	Delete(context.Context, string, metav1.DeleteOptions) error
}, name string,
) {
	l.Must(client.Delete(l.Ctx, name, metav1.DeleteOptions{}))
}

// patch changes an object with a strategic merge patch.
func patch[T any](l *Lab, client interface {
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}, name, patch string, subresources ...string,
) {
	steps.Value(client.Patch(l.Ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...))
}
