package controlplane

import "time"

const (
	// jitter is the uncertainty of the times at which the node controller sees a heartbeat and starts a pass. `pass` is
	// the longest time that it usually needs to check all nodes once.
	jitter = 300 * time.Millisecond
	pass   = 30 * time.Millisecond
	// ShortestSilence is the shortest silence that makes a node Unknown with a grace period of 20 s.
	ShortestSilence = 20*time.Second - jitter
)

// Silence is a time without a heartbeat of a node. It ends with the next heartbeat that the node controller counts, or
// with the deletion of the Node.
type Silence struct {
	Node  string
	Ended time.Time
	// Longest is the longest possible length. Shortest is the length of the part in which the node was certainly silent
	// and the node controller may be assumed to work.
	Shortest, Longest time.Duration
	// Addresses is the number of ready addresses that Services lose if the node turns Unknown.
	Addresses int
}

// With returns how often the silence makes the node Unknown with other settings: once, never, or possibly. The node
// controller checks all nodes once per monitor period. In its first pass after a heartbeat, it stores the current time.
// It sets the node to Unknown in the first pass in which the stored time is older than the grace period (node lifecycle
// controller, tryUpdateNodeHealth). A pass begins one monitor period after the end of the previous pass
// (wait.UntilWithContext).
func (s *Silence) With(period, monitor time.Duration) Range {
	n := passes(period, monitor)
	switch {
	case s.Longest < n*monitor-jitter:
		return Range{0, 0}
	case s.Shortest > (n+1)*(monitor+pass)+jitter:
		return Range{1, 1}
	}
	return Range{0, 1}
}

// passes returns the number of monitor periods after which the node controller finds that the grace period is over.
func passes(period, monitor time.Duration) time.Duration { return (period + monitor - 1) / monitor }
