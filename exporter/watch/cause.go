package watch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// watchDecoding marks a watch that broke on the way, or whose events could not be
// read (client-go, rest.Request.newStreamWatcher).
const watchDecoding = metav1.CauseType("ClientWatchDecoding")

func causeOf(err error) event.Reason {
	switch {
	case err == nil:
		return event.ReasonEnded
	case errors.Is(err, errSilent), errors.Is(err, errBehind):
		return event.ReasonSilent
	case isUnreadable(err):
		return event.ReasonUnreadable
	case isExpired(err):
		return event.ReasonExpired
	case apierrors.IsForbidden(err):
		return event.ReasonForbidden
	case apierrors.IsNotFound(err):
		return event.ReasonAbsent
	case apierrors.IsUnauthorized(err):
		return event.ReasonUnauthorized
	case apierrors.IsTooManyRequests(err):
		return event.ReasonThrottled
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), utilnet.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return event.ReasonTimeout
	case apierrors.HasStatusCause(err, watchDecoding), errors.Is(err, errNoAnswer),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return event.ReasonConnectionLost
	case errors.Is(err, syscall.ECONNREFUSED):
		return event.ReasonRefused
	}
	return causeByCode(err)
}

func causeByCode(err error) event.Reason {
	switch code := codeOf(err); {
	case code == 0:
		return event.ReasonUnreachable
	case code >= http.StatusInternalServerError:
		return event.ReasonServerError
	}
	return event.ReasonOther
}

// codeOf is the HTTP status of the server's answer, 0 if there was none.
func codeOf(err error) int32 {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// isExpired: before v1.18 servers also said Gone (cache.Reflector, isExpiredError).
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// mayPass reports whether the same request may succeed a little later: nothing answered, or
// a server or proxy that had no time for it, or a server that has just started: until it
// has read the rules it refuses whom it does not know (plugin/pkg/auth/authorizer/rbac). What is absent
// was there when it was asked for first: a proxy has lost its way.
func mayPass(err error) bool {
	switch code := codeOf(err); code {
	case 0, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}
