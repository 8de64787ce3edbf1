package report

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Cluster has the numbers that advice needs. All of them are on /metrics, so that a live
// cluster, a recording and a running kubeflap get the same advice.
type Cluster struct {
	// Grace is the node monitor grace period in force, 0 if unknown; GraceSource is the label of its metric.
	Grace       time.Duration
	GraceSource string
	// Recommended is the grace period to set, 0 if there is none.
	Recommended time.Duration
	// Expected is how often nodes send heartbeats while nothing delays them; 0 if an older kubeflap did not say it, nor anything of Recommended.
	Expected time.Duration
	// Managed: the cloud runs the control plane, so nobody can set its flags.
	Managed bool
	// Now is when these numbers were read: the time of the newest event, zero if an older kubeflap did not say it.
	Now   time.Time
	Nodes []Node
	// Intervals is the histogram of all heartbeat intervals since kubeflap started.
	Intervals  Histogram
	Services   []Service
	Namespaces []Namespace
	// Flags are those of the kube-controller-manager that are read and set, durations in seconds.
	Flags            map[string]float64
	ShortTolerations []ShortToleration
	// Unwatched are the resources that cannot be watched, with the reason.
	Unwatched []Unwatched
}

// Node is a node's heartbeats.
type Node struct {
	Name string
	// Longest is the longest interval of the last ten minutes.
	Longest time.Duration
	// Late and Missed count intervals over half of the grace period and over all of it, since kubeflap started.
	Late, Missed uint64
	// Verdicts are those of its incidents, of the last ten minutes.
	Verdicts []verdict.Verdict
	// Silences are those since kubeflap first saw the node, by what was decided about them; nil if an older kubeflap did not say that.
	Silences []Silences
}

// Silences counts the silences of a node with one verdict and reason. Last is when the newest ended.
type Silences struct {
	Verdict verdict.Verdict
	Reason  verdict.Reason
	Count   uint64
	Last    time.Time
}

// Service has the counters of a Service.
type Service struct {
	Namespace, Name string
	Conflict        bool
	// ForeignAddresses counts the addresses beside a selector that neither Kubernetes nor a known manager wrote.
	ForeignAddresses uint64
	// ResetsWithSelector and ResetsSelectorless count resets of manually managed Endpoints.
	ResetsWithSelector, ResetsSelectorless uint64
	Bounces                                uint64
	// InPlaceLosses are the ready addresses lost to in-place updates.
	InPlaceLosses uint64
}

// Namespace has the counters of a namespace's pods.
type Namespace struct {
	Name                                           string
	InPlaceUpdates, UngatedUpdates, SilentRestarts uint64
	// Windows are the bounces and stale re-adds of consumers, sorted; empty if they were not counted.
	Windows []advice.Window
}

// Unwatched is a resource that cannot be watched.
type Unwatched struct{ Resource, Reason string }

// Histogram is a classic histogram: counts are cumulative, as they are exposed.
type Histogram struct{ Buckets []Bucket }

// Bucket counts the values up to Bound. The last Bound is +Inf.
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

// one is the bound, in seconds, up to which two heartbeats count as one. A kubelet whose status
// changed reports it and renews its Lease at nearly the same time.
const one = 1

// median is that of the intervals over one second. It is interpolated linearly within
// a bucket, as histogram_quantile does.
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

// top has the bounds of the highest bucket, up to limit, that is not empty.
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
