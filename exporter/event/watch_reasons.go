package event

// Reason is the reason why a watch is Down or Unavailable, or why a direct read failed. Recordings and metrics contain
// this text. Other versions of kubeflap may use reasons that are not listed here.
type Reason string

// The reasons that exporter/watch reports.
const (
	// ReasonEnded means that the API server closed the watch normally.
	ReasonEnded Reason = "ended"
	// ReasonSilent means that an open watch delivered neither events nor bookmarks, or that the watch lagged behind a
	// direct read.
	ReasonSilent         Reason = "silent"
	ReasonExpired        Reason = "expired"
	ReasonForbidden      Reason = "forbidden"
	ReasonAbsent         Reason = "absent"
	ReasonUnauthorized   Reason = "unauthorized"
	ReasonThrottled      Reason = "throttled"
	ReasonTimeout        Reason = "timeout"
	ReasonRefused        Reason = "connection refused"
	ReasonConnectionLost Reason = "connection lost"
	ReasonServerError    Reason = "server error"
	// ReasonUnreadable means that the response did not come from the Kubernetes API, or was not protobuf.
	ReasonUnreadable  Reason = "unreadable answer"
	ReasonUnreachable Reason = "unreachable"
	// ReasonNotRunning means that kubeflap was restarted, and this break lasts from the end of the previous process until
	// the first list of the next one.
	ReasonNotRunning Reason = "kubeflap was not running"
	// ReasonNotRecorded means that no process was recording.
	ReasonNotRecorded Reason = "not recorded"
	ReasonOther       Reason = "error"
)

const notReady = " not ready"

// NotReady returns the reason of a DirectReadAnswered event if a check of /readyz failed.
func NotReady(check string) Reason { return Reason(check + notReady) }

// BlamesServer reports whether a direct read that failed for this reason says that the API server could not read from etcd.
// A missing permission, a rate limit or a proxy concerns only kubeflap, and says nothing about the API server.
func (r Reason) BlamesServer() bool {
	switch r {
	case "", ReasonForbidden, ReasonThrottled, ReasonAbsent, ReasonUnauthorized, ReasonUnreadable, ReasonOther:
		return false
	}
	return true
}

// Known reports whether r is one of the constants above, or names one of the API server's own checks (apiserver,
// server/healthz). Such a reason contains no names from a cluster.
func (r Reason) Known() bool {
	switch r {
	case ReasonEnded, ReasonSilent, ReasonExpired, ReasonForbidden, ReasonAbsent, ReasonUnauthorized, ReasonThrottled,
		ReasonTimeout, ReasonRefused, ReasonConnectionLost, ReasonServerError, ReasonUnreadable, ReasonUnreachable, ReasonNotRunning, ReasonNotRecorded, ReasonOther,
		"etcd" + notReady, "etcd-readiness" + notReady, "informer-sync" + notReady, "ping" + notReady, "shutdown" + notReady:
		return true
	}
	return false
}
