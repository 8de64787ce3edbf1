package controlplane

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// AskEvery is the shortest time between two direct reads.
	AskEvery = 10 * time.Second
	// unaskedWait is how long a late heartbeat waits for a direct read before it counts without one. A recording may
	// contain no direct reads.
	unaskedWait = time.Second
	// catchUpWithin is the time within which the watch must show a renewal that a read has shown. Reads and watch
	// events can arrive in any order.
	catchUpWithin = 2 * time.Second
	// answersWithin is the longest normal time between two signs that the API server accepts writes. Each node renews
	// its Lease every 10 s, and direct reads are at least 10 s apart.
	answersWithin = 15 * time.Second
	// `promptly` is the longest time that an undisturbed watch needs to show a renewal.
	promptly = 2 * time.Second
)

// IsLate reports whether a renewal arrived late. The node sent it at `made`, and kubeflap saw it at `seen`.
func IsLate(made, seen time.Time) bool { return seen.Sub(made) > promptly }

// Reads holds the results of direct reads of Leases, and the newest heartbeat that the watch showed. Direct reads
// distinguish a silent watch from silent nodes. Bookmarks cannot do so, because the API server sends bookmarks from
// memory, even while etcd stalls (apiserver, storage/cacher, dispatchEvents). The zero value is empty.
type Reads struct {
	// Answers is the time of the newest sign that the API server accepts writes. AnswersSince is the end of the last gap
	// longer than answersWithin.
	Answers, AnswersSince time.Time
	// `shown` is the time of the newest heartbeat that the watch has shown.
	shown time.Time
	// Asked is the start of the last read. `asking` is set until the answer to this read arrives.
	Asked  time.Time
	asking bool
	// `proven` is the start of the last read that found nothing newer than the watch had shown. `answered` is the time of
	// the answer to that read.
	proven, answered time.Time
	// Failed is the start of the last read if that read proved nothing. Failed is reset when the watch has caught up, or
	// when another read succeeds.
	Failed time.Time
	// `ahead` holds, by Lease name, the renewTimes that a read has shown but the watch has not. aheadSince is the time
	// of the first of these reads.
	ahead      map[string]event.NodeTime
	aheadSince time.Time
}

// WatchShowed records a renewal that the node sent at `made` and the watch showed at `seen`. The renewal proves that
// the watch has shown everything that happened before `made`.
func (r *Reads) WatchShowed(made, seen time.Time, name string, renewed event.NodeTime) {
	r.noteAnswer(seen)
	if made.After(r.shown) {
		r.shown = made
	}
	if !made.Before(r.Failed) && !IsLate(made, seen) {
		r.Failed = time.Time{} // the watch has caught up, because it promptly shows a renewal that is newer than the read
	}
	if read, ok := r.ahead[name]; ok && !renewed.Before(read) {
		delete(r.ahead, name)
	}
}

// WatchShowedReport records a status report, which proves that the watch works. Call it only while status reports serve
// as heartbeats.
func (r *Reads) WatchShowedReport(t time.Time) {
	r.shown = t
	r.noteAnswer(t)
}

func (r *Reads) noteAnswer(t time.Time) {
	if t.Sub(r.Answers) > answersWithin {
		r.AnswersSince = t
	}
	if t.After(r.Answers) {
		r.Answers = t
	}
}

// WatchBroke records that the watch broke. It discards evidence that the watch lags, because every resumed watch lags
// at first.
func (r *Reads) WatchBroke() { r.ahead, r.Failed = nil, time.Time{} }

// Doubtful reports whether the last read failed and the watch has not caught up since. Either the nodes are silent, or
// the watch is late.
func (r *Reads) Doubtful() bool { return !r.Failed.IsZero() }

// IsWatchLagging reports whether a read has shown a renewal that the watch has not shown.
func (r *Reads) IsWatchLagging() bool { return len(r.ahead) > 0 }

// MustReopenWatch reports whether a read has shown a renewal that the watch did not show within catchUpWithin.
func (r *Reads) MustReopenWatch(t time.Time) bool {
	return r.IsWatchLagging() && t.Sub(r.aheadSince) > catchUpWithin
}

// ProvenAfter reports whether a read that started at `mark` or later found nothing newer than the watch had shown.
func (r *Reads) ProvenAfter(mark time.Time) bool { return !r.proven.Before(mark) }

// ProvenAt returns the earliest time at which the silence of a node up to `mark` is proven. It assumes that no more
// events arrive. The proof is a heartbeat of another node after `mark`, or a read after `mark` that finds nothing newer
// than the watch has shown. A read that fails because the only API server cannot reach etcd is also proof, because no
// node can have renewed its Lease. ok is false while the watch lags. Without a Lease watch, there are no direct reads, and
// ok is also false if no heartbeat has arrived after `mark`.
func (r *Reads) ProvenAt(mark time.Time, leases bool) (at time.Time, ok bool) {
	at = mark.Add(unaskedWait)
	switch {
	case leases && r.IsWatchLagging():
		return time.Time{}, false
	case !leases || !r.shown.Before(mark):
		return r.shown, !r.shown.Before(mark)
	case !r.proven.Before(mark):
		return r.answered, true
	case r.asking:
		return r.Asked.Add(AskEvery), true
	case !r.Asked.IsZero() && at.Before(r.Asked.Add(AskEvery+unaskedWait)):
		return r.Asked.Add(AskEvery + unaskedWait), true // the next read starts before this time
	}
	return at, true
}

// NewerRenewal records that a read has shown a renewal that the watch has not shown yet.
func (r *Reads) NewerRenewal(t time.Time, name string, renewed event.NodeTime) {
	if r.ahead == nil {
		r.ahead = map[string]event.NodeTime{}
	}
	if len(r.ahead) == 0 {
		r.aheadSince = t
	}
	r.ahead[name] = renewed
}

// ApplyRead handles the start or the result of a direct read of Leases.
func (x *ControlPlane) ApplyRead(e event.Event) {
	r := &x.Reads
	if e.Type == event.DirectReadStarted {
		r.Asked, r.asking = e.Seen, true
		return
	}
	r.asking = false
	switch {
	case e.Type == event.DirectReadUnanswered || !saysOfNodes(e.Reason, x.servers()):
		r.Failed = r.Asked
	case len(r.ahead) == 0:
		r.proven, r.answered, r.Failed = r.Asked, e.Seen, time.Time{}
	}
	if e.Type == event.DirectReadAnswered && e.Reason == "" {
		r.noteAnswer(r.Asked)
	}
	x.found.Add(transition.LeasesRead{At: transition.At{Time: e.Seen}, Answered: e.Type == event.DirectReadAnswered, Reason: e.Reason})
}

// saysOfNodes reports whether an answer proves something about the nodes. `servers` is the number of API servers in the
// cluster, or 0 if unknown. An answer with all requested Leases is proof.
// An etcd error is proof if the number of API servers is one or unknown, because no node can have renewed its Lease. If
// there are several API servers, nodes may have renewed their Leases through a server that still reaches etcd.
//
// Other errors prove nothing. The answer Forbidden counts as proof, because kubeflap must work even if it has no permission
// for direct reads.
func saysOfNodes(reason event.Reason, servers int) bool {
	return reason == "" || reason == event.ReasonForbidden || reason.BlamesServer() && servers < 2
}

// HidesEtcd reports whether a read got no answer, or an error from an API server that cannot read from etcd. In both
// cases, the watches show nothing. Throttling does not count, because the API server may still serve its watches.
func HidesEtcd(e event.Event) bool {
	return e.Type == event.DirectReadUnanswered || e.Reason.BlamesServer()
}
