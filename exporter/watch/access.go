package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// access is the result of check for one resource.
type access struct {
	apiclient.Resource
	// absent is set if the API server does not have the resource.
	absent bool
	// refused is the list of forbidden verbs. refusal is the server's error.
	refused []string
	refusal error
	// failed is the error that prevented the check, or nil if the check has a result.
	failed error
}

// granted reports whether the resource can be listed and watched.
func (a *access) granted() bool { return len(a.refused) == 0 && !a.absent && a.failed == nil }

// reason returns the reason why a refused or absent resource cannot be watched.
func (a *access) reason() event.Reason {
	if a.absent {
		return event.ReasonAbsent
	}
	return event.ReasonForbidden
}

// check requests a list of one object, and then a watch that starts at the list's resourceVersion. If the list is
// forbidden, check starts the watch at version "0" instead, because it must find all missing verbs.
func check(ctx context.Context, resource apiclient.Resource) access {
	ctx, cancel := context.WithTimeout(ctx, apiclient.Timeout)
	defer cancel()
	a := access{Resource: resource}
	version, err := resource.CurrentVersion(ctx)
	if err != nil {
		version = "0"
	}
	if a.take("list", err) {
		// The watch ends after one second, because some proxies send the header only when the body begins or ends.
		stream, err := resource.Watch(ctx, version, time.Second)
		if err == nil {
			stream.Close()
		}
		a.take("watch", err)
	}
	return a
}

// take stores the result for a verb. It reports whether the next verb should be checked.
func (a *access) take(verb string, err error) bool {
	switch reason := apiclient.Reason(err); {
	case err == nil:
		return true
	case reason == event.ReasonForbidden:
		a.refused, a.refusal = append(a.refused, verb), err
		return true
	case reason == event.ReasonAbsent:
		a.absent = true
	default:
		a.failed = fmt.Errorf("%s %s: %w", verb, a.Kind, err)
	}
	return false
}
