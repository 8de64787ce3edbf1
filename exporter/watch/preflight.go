package watch

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// repeatAfter is the interval between log lines while the API server does not respond.
const repeatAfter = time.Minute

// believeAfter is the delay before preflight checks missing permissions a second time. At startup, a server denies all
// requests until it has read the RBAC rules (plugin/pkg/auth/authorizer/rbac).
const believeAfter = 5 * time.Second

// preflight checks whether the API server responds, and which resources kubeflap is allowed to list and watch. It waits
// until each check has a result, and emits an event of type Down for each check without one. It returns an error if the
// server rejects the credentials or a required permission is missing.
func (w *Watcher) preflight(ctx context.Context) ([]access, error) {
	all, err := w.untilAnswered(ctx)
	if err != nil || missing(all, w.namespaced) == nil {
		return all, err
	}
	w.log.Info("some permissions are missing, checking again", "in", believeAfter)
	if !sleep(ctx, believeAfter) {
		return nil, ctx.Err() //nolint:wrapcheck // the caller drops the error
	}
	if all, err = w.untilAnswered(ctx); err != nil {
		return nil, err
	}
	return all, missing(all, w.namespaced)
}

// untilAnswered repeats the checks of all resources until each has a result. It logs each reason for a failure at most
// once per minute.
func (w *Watcher) untilAnswered(ctx context.Context) ([]access, error) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	var all []access
	logged := map[event.Reason]time.Time{}
	start := time.Now()
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		all = checkAll(ctx, w.resources)
		err := firstFailure(all)
		reason := apiclient.Reason(err)
		switch {
		case err == nil:
			return true, nil
		case reason == event.ReasonUnauthorized:
			return false, fmt.Errorf("the API server rejects the credentials: %w", err)
		case ctx.Err() != nil:
			return false, nil
		}
		for i := range all {
			if x := &all[i]; x.failed != nil {
				w.sink(event.Event{Seen: time.Now(), Kind: x.Kind, Type: event.Down, Reason: apiclient.Reason(x.failed)})
			}
		}
		if time.Since(logged[reason]) >= repeatAfter {
			logged[reason] = time.Now()
			w.log.Warn("cannot access the API server, retrying", "for", time.Since(start).Round(time.Second), "cause", reason, "err", err)
		}
		return false, nil
	})
	if err == nil && len(logged) > 0 {
		w.log.Info("the API server is responding", "after", time.Since(start).Round(time.Millisecond))
	}
	return all, err //nolint:wrapcheck // the function above or the context returned the error
}

func checkAll(ctx context.Context, resources []apiclient.Resource) []access {
	all := make([]access, len(resources))
	var running sync.WaitGroup
	for i := range resources {
		running.Go(func() { all[i] = check(ctx, resources[i]) })
	}
	running.Wait()
	return all
}

// firstFailure returns an error about rejected credentials if there is one, because retries do not help in this case.
// Otherwise, it returns the first error.
func firstFailure(all []access) error {
	var first error
	for i := range all {
		err := all[i].failed
		if apiclient.Reason(err) == event.ReasonUnauthorized {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}
