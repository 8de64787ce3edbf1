package apiclient

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

// watchDecoding is the status cause that client-go sets for a broken watch connection or an unreadable watch event
// (rest.Request, newStreamWatcher).
const watchDecoding = metav1.CauseType("ClientWatchDecoding")

// Reason returns the reason why a request failed or a watch ended. A nil error means that the server ended the
// watch normally.
func Reason(err error) event.Reason {
	switch {
	case err == nil:
		return event.ReasonEnded
	case errors.Is(err, errUnreadable):
		return event.ReasonUnreadable
	case IsExpired(err):
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
	case apierrors.HasStatusCause(err, watchDecoding),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return event.ReasonConnectionLost
	case errors.Is(err, syscall.ECONNREFUSED):
		return event.ReasonRefused
	}
	switch code := statusCode(err); {
	case code == 0:
		return event.ReasonUnreachable
	case code >= http.StatusInternalServerError:
		return event.ReasonServerError
	}
	return event.ReasonOther
}

// statusCode returns the HTTP status of the response, or 0 if there was no response.
func statusCode(err error) int32 {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// IsAnswered reports whether the failed request got a response, either from the API server or from another server.
func IsAnswered(err error) bool { return statusCode(err) != 0 || errors.Is(err, errUnreadable) }

// IsExpired reports whether the resourceVersion is too old. Servers before v1.18 returned Gone (cache.Reflector,
// isExpiredError).
func IsExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// IsTemporary reports whether a request that has succeeded before may succeed again. This is the case if there was no
// response, or if a server or proxy was overloaded. Denied access counts as temporary, because a server rejects users
// at startup until it has read the RBAC rules (plugin/pkg/auth/authorizer/rbac). A 404 counts as temporary, because a
// proxy responds with 404 if its server is down.
func IsTemporary(err error) bool {
	switch code := statusCode(err); code {
	case 0, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}
