package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// access is what a resource's check has shown: all zero if it can be watched.
type access struct {
	endpoint
	// refused are the verbs that are forbidden, by is the server's refusal.
	refused []string
	by      error
	absent  bool
	// failed is set if the check came to no end.
	failed error
}

func (a *access) granted() bool { return len(a.refused) == 0 && !a.absent && a.failed == nil }

func (a *access) reason() event.Reason {
	if a.absent {
		return event.ReasonAbsent
	}
	return event.ReasonForbidden
}

// believeAfter is how long a refusal has to last. A server that has just started refuses
// everything until it has read the rules (plugin/pkg/auth/authorizer/rbac).
const believeAfter = 5 * time.Second

// preflight asks for all resources at once, until the server has answered for each, and
// returns an error if what it answered cannot be lived with.
func (w *Watcher) preflight(ctx context.Context) ([]access, error) {
	all, err := w.untilAnswered(ctx)
	if err != nil || w.judge(all) == nil {
		return all, err
	}
	if err := sleep(ctx, believeAfter); err != nil {
		return nil, err
	}
	if all, err = w.untilAnswered(ctx); err != nil {
		return nil, err
	}
	return all, w.judge(all)
}

func (w *Watcher) untilAnswered(ctx context.Context) ([]access, error) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	var said []event.Reason
	for start := time.Now(); ; {
		all := checkAll(ctx, w.endpoints)
		err := firstFailure(all)
		switch {
		case err == nil:
			if len(said) > 0 {
				w.log.Info("the API server answers", "after", time.Since(start).Round(time.Millisecond))
			}
			return all, nil
		case apierrors.IsUnauthorized(err):
			return nil, fmt.Errorf("the API server refuses the credentials: %w", err)
		case !slices.Contains(said, causeOf(err)) && ctx.Err() == nil:
			said = append(said, causeOf(err))
			w.log.Warn("cannot talk to the API server, trying again", "cause", causeOf(err), "err", err)
		}
		if err := sleep(ctx, backoff.Step()); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the API server: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}

func checkAll(ctx context.Context, endpoints []endpoint) []access {
	all := make([]access, len(endpoints))
	var running sync.WaitGroup
	for i := range endpoints {
		running.Go(func() { all[i] = check(ctx, endpoints[i]) })
	}
	running.Wait()
	return all
}

// firstFailure prefers refused credentials: those do not get better.
func firstFailure(all []access) error {
	var first error
	for i := range all {
		err := all[i].failed
		if err != nil && apierrors.IsUnauthorized(err) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// check tries what a reflector does: a short list, and a watch from there. Without the right
// to list there is no version to watch from, but the right to watch shows all the same.
func check(ctx context.Context, e endpoint) access {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	a := access{endpoint: e}
	version, err := tryList(ctx, e)
	if a.take("list", err) {
		a.take("watch", tryWatch(ctx, e, version))
	}
	return a
}

// take notes how a verb was answered, and reports whether it is worth while to go on.
func (a *access) take(verb string, err error) bool {
	switch {
	case err == nil:
		return true
	case apierrors.IsForbidden(err):
		a.refused, a.by = append(a.refused, verb), err
		return true
	case apierrors.IsNotFound(err):
		a.absent = true
	default:
		a.failed = fmt.Errorf("%s %s: %w", verb, a.kind, err)
	}
	return false
}

// tryList leaves the version open: the watch cache ignores the limit at version "0".
func tryList(ctx context.Context, e endpoint) (version string, err error) {
	list, err := pageOf(e.get(&metav1.ListOptions{Limit: 1}).MaxRetries(0).Do(ctx))
	if err != nil {
		return "0", err
	}
	return list.ResourceVersion, nil
}

func tryWatch(ctx context.Context, e endpoint, version string) error {
	// Some proxies hold the answer's head back until there is a body, or an end.
	second := int64(1)
	options := &metav1.ListOptions{Watch: true, ResourceVersion: version, TimeoutSeconds: &second}
	body, err := e.get(options).MaxRetries(0).Stream(ctx)
	if err != nil {
		return err //nolint:wrapcheck // take says what was done
	}
	_ = body.Close()
	return nil
}
