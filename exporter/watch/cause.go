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
)

// Why a watch is down, or a resource unavailable: these words and no others are an
// event's Reason. The error's own words go to the log.
const (
	causeEnded          = "ended" // by the server, in good order
	causeExpired        = "expired"
	causeForbidden      = "forbidden"
	causeAbsent         = "absent"
	causeUnauthorized   = "unauthorized"
	causeThrottled      = "throttled"
	causeTimeout        = "timeout"
	causeRefused        = "connection refused"
	causeConnectionLost = "connection lost"
	causeSilent         = "silent"            // open, and neither an event nor a bookmark came, or it is behind
	causeUnreadable     = "unreadable answer" // something answered, but not as the API does
	causeServer         = "server error"
	causeUnreachable    = "unreachable"
	causeOther          = "error"
)

// watchDecoding marks a watch that broke on the way, or whose events could not be
// read (client-go, rest.Request.newStreamWatcher).
const watchDecoding = metav1.CauseType("ClientWatchDecoding")

func causeOf(err error) string {
	switch {
	case err == nil:
		return causeEnded
	case errors.Is(err, errSilent), errors.Is(err, errBehind):
		return causeSilent
	case isUnreadable(err):
		return causeUnreadable
	case isExpired(err):
		return causeExpired
	case apierrors.IsForbidden(err):
		return causeForbidden
	case apierrors.IsNotFound(err):
		return causeAbsent
	case apierrors.IsUnauthorized(err):
		return causeUnauthorized
	case apierrors.IsTooManyRequests(err):
		return causeThrottled
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), utilnet.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return causeTimeout
	case apierrors.HasStatusCause(err, watchDecoding), errors.Is(err, errNoAnswer),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return causeConnectionLost
	case errors.Is(err, syscall.ECONNREFUSED):
		return causeRefused
	}
	return causeByCode(err)
}

func causeByCode(err error) string {
	switch code := codeOf(err); {
	case code == 0:
		return causeUnreachable
	case code >= http.StatusInternalServerError:
		return causeServer
	}
	return causeOther
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
