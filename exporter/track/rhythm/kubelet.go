package rhythm

import "time"

const (
	// renewInterval is how often a kubelet renews its Lease by default: a quarter of nodeLeaseDurationSeconds, 40 s (kubelet,
	// nodeLeaseRenewIntervalFraction).
	renewInterval = 10 * time.Second
	// longestInterval bounds what a Lease may claim, as does Shortest.
	longestInterval = time.Minute
)

// Kubelet is how often a kubelet sends heartbeats.
type Kubelet struct {
	// Duration is the Lease's leaseDurationSeconds, 0 if it has none.
	Duration int32
	// Renewals and Reports are how often Lease and status are written, by the node's clock.
	Renewals, Reports Rhythm
}

// Interval is how often it sends heartbeats while nothing delays them: a quarter of its Lease's duration, or what it does more often.
// Only what is regular shortens it, as a status report every 4 s (nodeStatusUpdateFrequency).
func (k *Kubelet) Interval() time.Duration {
	every := renewInterval
	if k.Duration > 0 {
		every = min(max(time.Duration(k.Duration)*time.Second/4, Shortest), longestInterval)
	}
	for _, r := range [...]*Rhythm{&k.Renewals, &k.Reports} {
		if known := r.Known(); known > 0 {
			every = min(every, known)
		}
	}
	return every
}

// Undisturbed is the longest interval while nothing delays the heartbeats: a Lease is renewed up to 4 % later (lease controller, Run), and the request takes its
// time.
func (k *Kubelet) Undisturbed() time.Duration { return k.Interval()*104/100 + 1100*time.Millisecond }
