// Package permissions finds out whether the API server answers and which resources kubeflap may list and watch. It tries both
// verbs, which also shows whether a resource exists.
package permissions

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// repeatAfter is how often it is logged that the API server still does not answer.
const repeatAfter = time.Minute

// believeAfter is how long a refusal must last. A server that has just started refuses everything until it has read the rules
// (plugin/pkg/auth/authorizer/rbac).
const believeAfter = 5 * time.Second

// Preflight checks all resources. It waits until the API server has answered for each of them. It fails if the server refuses
// the credentials, or if a permission is missing that kubeflap cannot do without. Nodes are needed unless they are optional.
func Preflight(ctx context.Context, resources []apiclient.Resource, nodesOptional bool, log *slog.Logger) ([]Access, error) {
	all, err := untilAnswered(ctx, resources, log)
	if err != nil || missing(all, nodesOptional) == nil {
		return all, err
	}
	log.Info("permissions are missing, checking again", "in", believeAfter)
	select {
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the caller knows that it stops
	case <-time.After(believeAfter):
	}
	if all, err = untilAnswered(ctx, resources, log); err != nil {
		return nil, err
	}
	return all, missing(all, nodesOptional)
}

// untilAnswered checks all resources until no check failed. It logs each reason for a failure, and again each minute.
func untilAnswered(ctx context.Context, resources []apiclient.Resource, log *slog.Logger) ([]Access, error) {
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
		case apierrors.IsUnauthorized(err):
			return false, fmt.Errorf("the API server refuses the credentials: %w", err)
		case time.Since(logged[reason]) >= repeatAfter && ctx.Err() == nil:
			logged[reason] = time.Now()
			log.Warn("cannot talk to the API server, trying again", "for", time.Since(start).Round(time.Second), "cause", reason, "err", err)
		}
		return false, nil
	})
	if err == nil && len(logged) > 0 {
		log.Info("the API server answers", "after", time.Since(start).Round(time.Millisecond))
	}
	return all, err //nolint:wrapcheck // it is the function's own error, or the context's
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

// firstFailure prefers refused credentials: waiting does not help against those.
func firstFailure(all []Access) error {
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
