package permissions

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// Access is the result of Check for one resource.
type Access struct {
	apiclient.Resource
	// absent is set if the API server does not have the resource.
	absent bool
	// refused is the list of forbidden verbs. refusal is the server's error.
	refused []string
	refusal error
	// failed is the error that prevented the check, or nil if the check has a result.
	failed error
}

// Granted reports whether the resource can be listed and watched.
func (a *Access) Granted() bool { return !a.Refused() && !a.absent && a.failed == nil }

// Refused reports whether a permission is missing.
func (a *Access) Refused() bool { return len(a.refused) > 0 }

// Absent reports whether the API server lacks the resource.
func (a *Access) Absent() bool { return a.absent }

// Reason returns the reason why a refused or absent resource cannot be watched.
func (a *Access) Reason() event.Reason {
	if a.absent {
		return event.ReasonAbsent
	}
	return event.ReasonForbidden
}

// Check requests a list of one object, and then a watch that starts at the list's resourceVersion. If the list is
// forbidden, Check starts the watch at version "0" instead, because it must find all missing verbs.
func Check(ctx context.Context, resource apiclient.Resource) Access {
	ctx, cancel := context.WithTimeout(ctx, apiclient.Timeout)
	defer cancel()
	a := Access{Resource: resource}
	version, err := resource.CurrentVersion(ctx)
	if err != nil {
		version = "0"
	}
	if a.take("list", err) {
		a.take("watch", tryWatch(ctx, &resource, version))
	}
	return a
}

// take stores the result for a verb. It reports whether the next verb should be checked.
func (a *Access) take(verb string, err error) bool {
	switch {
	case err == nil:
		return true
	case apierrors.IsForbidden(err):
		a.refused, a.refusal = append(a.refused, verb), err
		return true
	case apierrors.IsNotFound(err):
		a.absent = true
	default:
		a.failed = fmt.Errorf("%s %s: %w", verb, a.Kind, err)
	}
	return false
}

// tryWatch opens a watch that ends after one second. The watch must be short, because some proxies send the header only
// when the body begins or ends.
func tryWatch(ctx context.Context, resource *apiclient.Resource, version string) error {
	second := int64(1)
	options := &metav1.ListOptions{Watch: true, ResourceVersion: version, TimeoutSeconds: &second}
	body, err := resource.Request(options).MaxRetries(0).Stream(ctx)
	if err != nil {
		return err //nolint:wrapcheck // take adds the verb to the error
	}
	_ = body.Close()
	return nil
}
