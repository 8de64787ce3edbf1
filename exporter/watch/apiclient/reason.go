package apiclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reason returns the reason why a request failed or a watch ended. A nil error means that the server ended the
// watch normally.
func Reason(err error) event.Reason {
	var answer *responseError
	switch {
	case err == nil:
		return event.ReasonEnded
	case errors.Is(err, errUnreadable):
		return event.ReasonUnreadable
	case errors.As(err, &answer):
		return reasonOf(answer.code)
	case utilnet.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return event.ReasonTimeout
	case errors.Is(err, errLost), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return event.ReasonConnectionLost
	case errors.Is(err, syscall.ECONNREFUSED):
		return event.ReasonRefused
	}
	return event.ReasonUnreachable
}

// reasonOf returns the reason for an HTTP status.
func reasonOf(code int) event.Reason {
	switch code {
	case http.StatusGone:
		return event.ReasonExpired
	case http.StatusForbidden:
		return event.ReasonForbidden
	case http.StatusNotFound:
		return event.ReasonAbsent
	case http.StatusUnauthorized:
		return event.ReasonUnauthorized
	case http.StatusTooManyRequests:
		return event.ReasonThrottled
	case http.StatusGatewayTimeout:
		return event.ReasonTimeout
	}
	if code >= http.StatusInternalServerError {
		return event.ReasonServerError
	}
	return event.ReasonOther
}

// IsAnswered reports whether the failed request got a response, either from the API server or from another server.
func IsAnswered(err error) bool {
	var answer *responseError
	return errors.As(err, &answer) || errors.Is(err, errUnreadable)
}
