package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

const (
	// repeatAfter is the interval between log lines while the API server does not respond.
	repeatAfter = time.Minute
	// believeAfter is the delay before preflight checks missing permissions a second time. At startup, a server denies all
	// requests until it has read the RBAC rules (plugin/pkg/auth/authorizer/rbac).
	believeAfter = 5 * time.Second
)

// check returns the reason why a resource cannot be listed and watched, or nil if it can. It requests a list of one
// object, and then a watch that starts at the list's resourceVersion. If the list is forbidden, check starts the watch at
// version "0" instead, because the error must name all missing verbs.
func check(ctx context.Context, resource apiclient.Resource) error {
	ctx, cancel := context.WithTimeout(ctx, apiclient.Timeout)
	defer cancel()
	version, listErr := resource.CurrentVersion(ctx)
	forbidden := apiclient.Reason(listErr) == event.ReasonForbidden
	if forbidden {
		version = "0"
	} else if listErr != nil {
		return fmt.Errorf("list %v: %w", resource.Kind, listErr)
	}
	// The watch ends after one second, because some proxies send the header only when the body begins or ends.
	stream, watchErr := resource.Watch(ctx, version, time.Second)
	if watchErr == nil {
		stream.Close()
	}
	switch {
	case watchErr != nil && forbidden && apiclient.Reason(watchErr) == event.ReasonForbidden:
		return fmt.Errorf("list and watch %v: %w", resource.Kind, watchErr)
	case watchErr != nil:
		return fmt.Errorf("watch %v: %w", resource.Kind, watchErr)
	case listErr != nil:
		return fmt.Errorf("list %v: %w", resource.Kind, listErr)
	}
	return nil
}

// preflight checks whether the API server responds, and which resources kubeflap is allowed to list and watch. It waits
// until each check has a result: nil, forbidden or absent. It emits an event of type Down for each other result, and logs
// each other reason at most once per minute. It returns an error if the server rejects the credentials or a required
// permission is missing, or, with FailFast, if the address is wrong.
func (w *Watcher) preflight(ctx context.Context) ([]error, error) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: 10 * time.Second}
	logged, denied := map[event.Reason]time.Time{}, false
	for start := time.Now(); ctx.Err() == nil; {
		checks, answered := w.checkAll(ctx), true
		if w.FailFast && !slices.ContainsFunc(checks, func(err error) bool { return !isWrongAddress(err) }) {
			return nil, fmt.Errorf("cannot reach %s: %w", w.server, checks[0])
		}
		for i, err := range checks {
			reason := apiclient.Reason(err)
			switch {
			case ctx.Err() != nil, err == nil, reason == event.ReasonForbidden, reason == event.ReasonAbsent:
				continue
			case reason == event.ReasonUnauthorized: // retries do not help
				return nil, fmt.Errorf("the API server rejects the credentials: %w", err)
			}
			answered = false
			w.emit(w.resources[i].Kind, event.Down, nil, reason)
			if time.Since(logged[reason]) >= repeatAfter {
				logged[reason] = time.Now()
				w.log.Warn("cannot reach "+w.server+", trying again", "for", time.Since(start).Round(time.Second), "cause", reason, "err", err)
			}
		}
		if !answered {
			sleep(ctx, backoff.Step())
			continue
		}
		if len(logged) > 0 {
			w.log.Info("the API server is responding", "after", time.Since(start).Round(time.Millisecond))
			clear(logged)
		}
		err := w.missing(checks)
		if err == nil || denied {
			return checks, err
		}
		denied = true
		w.log.Info("some permissions are missing, checking again", "in", believeAfter)
		sleep(ctx, believeAfter)
	}
	return nil, ctx.Err() //nolint:wrapcheck // the caller drops the error
}

// isWrongAddress reports whether a request failed because nobody listens at the server's address, or somebody else does, or
// because no request can be sent. An API server that is overloaded or not ready fails otherwise. One that does not listen yet, for
// example while it is restarted, looks the same.
func isWrongAddress(err error) bool {
	switch apiclient.Reason(err) {
	case event.ReasonRefused, event.ReasonUnreachable, event.ReasonUnreadable:
		return true
	}
	return false
}

func (w *Watcher) checkAll(ctx context.Context) []error {
	checks := make([]error, len(w.resources))
	var running sync.WaitGroup
	for i, resource := range w.resources {
		running.Go(func() { checks[i] = check(ctx, resource) })
	}
	running.Wait()
	return checks
}

// missing returns an error that lists every required permission that was not granted, or nil if there is none. kubeflap
// requires permission to list and watch Pods, Services, and either EndpointSlices or Endpoints. The permission for
// Nodes is also required unless only one namespace is watched.
func (w *Watcher) missing(checks []error) error {
	lacks := map[event.Kind]error{}
	for i, resource := range w.resources {
		lacks[resource.Kind] = checks[i]
	}
	required := []event.Kind{event.KindPod, event.KindService}
	if !w.namespaced {
		required = append([]event.Kind{event.KindNode}, required...)
	}
	noAddresses := lacks[event.KindEndpointSlice] != nil && lacks[event.KindEndpoints] != nil
	if noAddresses {
		required = append(required, event.KindEndpointSlice, event.KindEndpoints)
	}
	var texts []string
	for _, kind := range required {
		if err := lacks[kind]; err != nil {
			texts = append(texts, "cannot "+err.Error())
		}
	}
	if texts == nil {
		return nil
	}
	if noAddresses {
		texts = append(texts, "one of endpointslices and endpoints is enough")
	}
	if !w.namespaced {
		texts = append(texts, "if you only have permissions in one namespace, use --namespace")
	}
	return errors.New(strings.Join(texts, "; "))
}
