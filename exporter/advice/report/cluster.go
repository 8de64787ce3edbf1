package report

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Cluster holds the numbers that the advice depends on. All of them come from kubeflap's metrics.
type Cluster struct {
	// Grace holds the current grace period, the heartbeat interval of nodes without delays, and whether a cloud provider
	// runs the control plane. GraceSource tells how kubeflap found the grace period, such as "flag" or "default".
	Grace       advice.GracePeriod
	GraceSource string
	// Recommended is the grace period to set, or 0 if there is no recommendation.
	Recommended time.Duration
	// Now is the time of the newest event.
	Now   time.Time
	Nodes []Node
	// Intervals is the histogram of all heartbeat intervals since kubeflap started.
	Intervals  Histogram
	Services   []Service
	Namespaces []Namespace
	// Flags holds the flags that are set on the kube-controller-manager, by name. Durations are in seconds.
	Flags map[string]float64
	// Unwatched lists the resources that cannot be watched.
	Unwatched []Unwatched
}

// Node holds the heartbeat statistics of a node.
type Node struct {
	Name string
	// Longest is the longest heartbeat interval of the last ten minutes.
	Longest time.Duration
	// Late counts the heartbeat intervals longer than half the grace period. Missed counts the intervals longer than
	// the whole grace period. Both counts start when kubeflap starts.
	Late, Missed uint64
	// Verdicts holds the verdicts of the node's incidents in the last ten minutes.
	Verdicts []verdict.Verdict
	// Silences holds the silences since kubeflap first saw the node.
	Silences []Silences
}

// Silences counts silences of a node with the same verdict and reason. Last is the end of the newest silence with this
// verdict and reason, or zero if another entry has it.
type Silences struct {
	Verdict verdict.Verdict
	Reason  verdict.Reason
	Count   uint64
	Last    time.Time
}

// Service holds the counters of a Service.
type Service struct {
	Namespace, Name string
	Conflict        bool
	// ForeignAddresses counts the foreign addresses of a Service with a selector. Neither Kubernetes nor a known
	// manager wrote them.
	ForeignAddresses uint64
	// ResetsWithSelector counts how often all manually managed addresses were removed while the Service had a selector.
	// ResetsSelectorless counts how often this happened while it had no selector.
	ResetsWithSelector, ResetsSelectorless uint64
	Bounces                                uint64
	// InPlaceLosses counts the ready addresses that were lost to in-place updates.
	InPlaceLosses uint64
}

// Namespace holds the counters of the pods in a namespace.
type Namespace struct {
	Name                                           string
	InPlaceUpdates, UngatedUpdates, SilentRestarts uint64
	// Windows holds the bounces and stale re-adds of clients, sorted by batching window. It is empty if kubeflap did
	// not count them.
	Windows []advice.Window
	// ShortTolerations counts the pods that have a short tolerationSeconds for nodes that are not Ready. Shortest is the
	// shortest of these tolerations.
	ShortTolerations int
	Shortest         time.Duration
}

// Unwatched is a resource that cannot be watched, with the reason.
type Unwatched struct{ Resource, Reason string }

// Histogram is a classic Prometheus histogram with cumulative counts. The last bucket has the bound +Inf.
type Histogram []Bucket

// Bucket counts the values up to Bound.
type Bucket struct {
	Bound float64
	Count uint64
}

func (h Histogram) total() uint64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].Count
}

// sameWithin is the interval in seconds within which two heartbeats count as one. A kubelet reports a changed node
// status and renews its Lease at nearly the same time.
const sameWithin = 1

// median returns the median of the intervals longer than one second. It interpolates linearly within a bucket, as
// histogram_quantile does.
func (h Histogram) median() time.Duration {
	var bound, rank float64
	var count uint64
	for _, b := range h {
		if b.Bound <= sameWithin {
			rank = float64(h.total()+b.Count) / 2
		} else if b.Count > count && float64(b.Count) >= rank && !isInf(b.Bound) {
			share := (rank - float64(count)) / float64(b.Count-count)
			return inSeconds(bound + share*(b.Bound-bound))
		}
		bound, count = b.Bound, b.Count
	}
	return 0
}

// entries holds nodes, Services or namespaces by name.
type entries[T any] map[string]*T

// of returns the entry with this name, and adds it if necessary.
func (e entries[T]) of(name string) *T {
	if e[name] == nil {
		e[name] = new(T)
	}
	return e[name]
}

func (e entries[T]) sorted() []T {
	all := make([]T, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, *e[name])
	}
	return all
}
