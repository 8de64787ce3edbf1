package event

// Reason says why a watch is Down or Unavailable, or why a direct read failed. Recordings and metrics hold the text. A
// recording may hold a Reason that is not listed here: other versions of kubeflap have other Reasons.
type Reason string

// The Reasons that exporter/watch gives.
const (
	// ReasonEnded: the API server closed the watch in good order.
	ReasonEnded Reason = "ended"
	// ReasonSilent: the watch was open, but no event or bookmark came, or a direct read showed that the watch is behind.
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
	// ReasonUnreadable: something answered, but not the Kubernetes API.
	ReasonUnreadable  Reason = "unreadable answer"
	ReasonUnreachable Reason = "unreachable"
	ReasonOther       Reason = "error"
)

// The Reasons of an Answered event after which a check of /readyz failed (apiserver, server/healthz).
const (
	ReasonEtcdNotReady          = Reason("etcd" + notReady)
	ReasonEtcdReadinessNotReady = Reason("etcd-readiness" + notReady)
	ReasonInformersNotReady     = Reason("informer-sync" + notReady)
	ReasonPingNotReady          = Reason("ping" + notReady)
	ReasonShutdownNotReady      = Reason("shutdown" + notReady)
)

const notReady = " not ready"

// NotReady returns the Reason for a failed check of /readyz. API servers may have checks that are not listed above.
func NotReady(check string) Reason { return Reason(check + notReady) }

// Known reports whether r is one of the constants, so that its text cannot hold a name of a cluster.
func (r Reason) Known() bool {
	switch r {
	case ReasonEnded, ReasonSilent, ReasonExpired, ReasonForbidden, ReasonAbsent, ReasonUnauthorized, ReasonThrottled,
		ReasonTimeout, ReasonRefused, ReasonConnectionLost, ReasonServerError, ReasonUnreadable, ReasonUnreachable, ReasonOther,
		ReasonEtcdNotReady, ReasonEtcdReadinessNotReady, ReasonInformersNotReady, ReasonPingNotReady, ReasonShutdownNotReady:
		return true
	}
	return false
}
