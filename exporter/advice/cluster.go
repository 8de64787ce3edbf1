// Package advice decides what to change in a cluster, from what kubeflap counted
// of it. It is pure: numbers go in, recommendations come out.
package advice

import "time"

// Cluster is what advice is given on: the numbers that are on /metrics, so that a live
// cluster, a recording and a running kubeflap are told the same.
type Cluster struct {
	// Grace is the node monitor grace period in force, 0 if unknown; GraceSource is how it is known.
	Grace       time.Duration
	GraceSource string
	Nodes       []Node
	// Intervals is the histogram of all heartbeat intervals since kubeflap began to look.
	Intervals  Histogram
	Services   []Service
	Namespaces []Namespace
	// Unwatched are the resources that cannot be watched, with the reason.
	Unwatched []Unwatched
}

// Node is a node's heartbeats.
type Node struct {
	Name string
	// Longest is the longest interval of the last ten minutes.
	Longest time.Duration
	// Late and Missed count intervals over half of the grace period and over all of it, since kubeflap began to look.
	Late, Missed uint64
}

// Service is what was counted of a Service.
type Service struct {
	Namespace, Name string
	Conflict        bool
	// ResetsWithSelector and ResetsSelectorless count resets of manually managed Endpoints.
	ResetsWithSelector, ResetsSelectorless uint64
	Bounces                                uint64
	// InPlaceLosses are the ready addresses lost to in-place updates.
	InPlaceLosses uint64
}

// Namespace is what was counted of a namespace's pods.
type Namespace struct {
	Name                                           string
	InPlaceUpdates, UngatedUpdates, SilentRestarts uint64
	// Windows are the bounces that consumers would see, sorted; empty if they were not counted.
	Windows []Window
}

// Unwatched is a resource that cannot be watched.
type Unwatched struct{ Resource, Reason string }

// Histogram is a classic histogram: counts are cumulative, as they are exposed.
type Histogram struct{ Buckets []Bucket }

// Bucket counts what is at most Bound; the last one's is +Inf.
type Bucket struct {
	Bound float64
	Count uint64
}

func (h Histogram) total() uint64 {
	if len(h.Buckets) == 0 {
		return 0
	}
	return h.Buckets[len(h.Buckets)-1].Count
}

// one is the bound, in seconds, up to which two heartbeats are one: a kubelet that has news
// reports its status and renews its Lease within a moment.
const one = 1

// median is that of the intervals that are no mere moment, estimated as
// histogram_quantile does: straight within a bucket.
func (h Histogram) median() time.Duration {
	var bound, rank float64
	var count uint64
	for _, b := range h.Buckets {
		if b.Bound <= one {
			rank = float64(h.total()+b.Count) / 2
		} else if b.Count > count && float64(b.Count) >= rank && !isInf(b.Bound) {
			share := (rank - float64(count)) / float64(b.Count-count)
			return inSeconds(bound + share*(b.Bound-bound))
		}
		bound, count = b.Bound, b.Count
	}
	return 0
}

// top is the bound of the highest bucket, up to limit, that holds anything, and its lower bound.
func (h Histogram) top(limit time.Duration) (lower, upper time.Duration) {
	var bound float64
	var count uint64
	for _, b := range h.Buckets {
		if b.Bound > limit.Seconds() {
			break
		}
		if b.Count > count {
			lower, upper = inSeconds(bound), inSeconds(b.Bound)
		}
		bound, count = b.Bound, b.Count
	}
	return lower, upper
}
