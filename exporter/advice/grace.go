package advice

import "time"

const (
	// HeartbeatInterval is how often a kubelet renews its Lease: a quarter of nodeLeaseDurationSeconds (40 s).
	HeartbeatInterval = 10 * time.Second
	// ShortestGrace is two renewals. With less, one late renewal makes a node Unknown.
	ShortestGrace = 2 * HeartbeatInterval
	// DefaultGracePeriod is the default since v1.32.
	DefaultGracePeriod = 50 * time.Second
	// LeastGracePeriod is the least to recommend, as the alerts do. A broken connection is noticed after
	// 45 s (HTTP/2 ping 30 s, and 15 s for its answer), and then the kubelet must send a heartbeat.
	LeastGracePeriod = time.Minute
	// LongestGrace is the most to recommend. Until the grace period ends, traffic goes to dead nodes.
	LongestGrace = 2 * time.Minute
)

// RecommendedGracePeriod is twice the longest heartbeat interval, rounded up to 10 s, at least least and at most two minutes.
// A node then survives one lost heartbeat, even if the next is as late as the latest one seen.
//
// The callers differ in least where the grace period is as short as the heartbeat interval. An incident
// passes DefaultGracePeriod, `kubeflap advise` LeastGracePeriod. Which one is right is not decided here.
func RecommendedGracePeriod(longest, least time.Duration) time.Duration {
	const step = 10 * time.Second
	return min(max((2*longest+step-1)/step*step, least), LongestGrace)
}
