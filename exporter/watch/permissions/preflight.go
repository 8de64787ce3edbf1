// Package permissions checks whether the API server responds, and which resources kubeflap is allowed to list and
// watch. It sends a list request and a watch request for each resource. These requests also show whether the resource
// exists.
package permissions

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// repeatAfter is the interval between log lines while the API server does not respond.
const repeatAfter = time.Minute

// believeAfter is the delay before Preflight checks missing permissions a second time. At startup, a server denies all
// requests until it has read the RBAC rules (plugin/pkg/auth/authorizer/rbac).
const believeAfter = 5 * time.Second

// Preflight checks all resources, and waits until each check has a result. It returns an error if the server rejects
// the credentials or a required permission is missing. The permission for Nodes is required unless nodesOptional is
// set. For each check that has no result yet, Preflight calls failed(), so that the caller can report why nothing is
// watched.
func Preflight(ctx context.Context, resources []apiclient.Resource, nodesOptional bool, log *slog.Logger, failed func(event.Kind, event.Reason)) ([]Access, error) {
	all, err := untilAnswered(ctx, resources, log, failed)
	if err != nil || missing(all, nodesOptional) == nil {
		return all, err
	}
	log.Info("some permissions are missing, checking again", "in", believeAfter)
	select {
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the caller drops the error
	case <-time.After(believeAfter):
	}
	if all, err = untilAnswered(ctx, resources, log, failed); err != nil {
		return nil, err
	}
	return all, missing(all, nodesOptional)
}

// untilAnswered repeats the checks of all resources until each has a result. It logs each reason for a failure at most
// once per minute.
func untilAnswered(ctx context.Context, resources []apiclient.Resource, log *slog.Logger, failed func(event.Kind, event.Reason)) ([]Access, error) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	var all []Access
	logged := map[event.Reason]time.Time{}
	start := time.Now()
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		all = checkAll(ctx, resources)
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
				failed(x.Kind, apiclient.Reason(x.failed))
			}
		}
		if time.Since(logged[reason]) >= repeatAfter {
			logged[reason] = time.Now()
			log.Warn("cannot access the API server, retrying", "for", time.Since(start).Round(time.Second), "cause", reason, "err", err)
		}
		return false, nil
	})
	if err == nil && len(logged) > 0 {
		log.Info("the API server is responding", "after", time.Since(start).Round(time.Millisecond))
	}
	return all, err //nolint:wrapcheck // the function above or the context returned the error
}

func checkAll(ctx context.Context, resources []apiclient.Resource) []Access {
	all := make([]Access, len(resources))
	var running sync.WaitGroup
	for i := range resources {
		running.Go(func() { all[i] = Check(ctx, resources[i]) })
	}
	running.Wait()
	return all
}

// firstFailure returns an error about rejected credentials if there is one, because retries do not help in this case.
// Otherwise, it returns the first error.
func firstFailure(all []Access) error {
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
