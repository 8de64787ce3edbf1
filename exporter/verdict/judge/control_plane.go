package judge

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// aroundBegin is the longest time between an API server's last Lease renewal and the start of a silence with the
	// same cause. API servers and kubelets renew their Leases every 10 s.
	aroundBegin = 15 * time.Second
	// maxStops is the maximum length of each of the lists stops, changes and reads.
	maxStops = 100
)

// ControlPlane holds facts about the control plane. They come from the watch of Leases in kube-system, and from direct
// reads of Leases. The zero value is empty.
type ControlPlane struct {
	// AsOf is the state of the control-plane Leases at the time of the newest node loss.
	AsOf    transition.ControlPlane
	stops   []stop
	changes []time.Time
	reads   []transition.LeasesRead
}

// stop is a period without renewals of a Lease. The field back is zero while the period is ongoing.
type stop struct {
	name, host  string
	since, back time.Time
}

// LeaseLate records that a Lease is no longer renewed.
func (c *ControlPlane) LeaseLate(x transition.ControlPlaneLeaseLate) {
	c.stops = bounded(append(c.stops, stop{name: x.Name, host: x.Host, since: x.Since}))
}

// LeaseRenewed records that a Lease is renewed again. If only the watch was late, LeaseRenewed deletes the recorded
// stop.
func (c *ControlPlane) LeaseRenewed(x transition.ControlPlaneLeaseRenewed) {
	c.stops = slices.DeleteFunc(c.stops, func(s stop) bool { return x.InTime && s.name == x.Name && s.back.IsZero() })
	for i := range c.stops {
		if s := &c.stops[i]; s.name == x.Name && s.back.IsZero() {
			s.back = x.Time
		}
	}
}

// StoppedSince yields the Leases whose renewals stopped at t or later, each with the time of its last renewal.
func (c *ControlPlane) StoppedSince(t time.Time) iter.Seq2[string, time.Time] {
	return func(yield func(string, time.Time) bool) {
		for _, s := range c.stops {
			if !s.since.Before(t) && !yield(s.name, s.since) {
				return
			}
		}
	}
}

// LeaderChanged records a leader change.
func (c *ControlPlane) LeaderChanged(t time.Time) { c.changes = bounded(append(c.changes, t)) }

// LeasesRead records the result of a direct read of Leases.
func (c *ControlPlane) LeasesRead(x transition.LeasesRead) { c.reads = bounded(append(c.reads, x)) }

func bounded[T any](all []T) []T { return slices.Delete(all, 0, max(len(all)-maxStops, 0)) }

// controlPlane fills what the Leases of the control plane and direct reads show about the time of the silences.
func (w *weighing) controlPlane() {
	for i, s := range w.own {
		if i == 0 || s.Began.Before(w.from) {
			w.from = s.Began
		}
		if end := cmp.Or(s.Ended, w.Now); end.After(w.to) {
			w.to = end
		}
	}
	for _, s := range w.ControlPlane.stops {
		if strings.HasPrefix(s.name, event.LeaseAPIServerPrefix) && s.since.Sub(w.from).Abs() <= aroundBegin {
			w.stopped = append(w.stopped, s)
		}
	}
	for _, x := range w.ControlPlane.reads {
		if !x.Time.Before(w.from) && !x.Time.After(w.to) {
			w.reads = append(w.reads, x)
		}
	}
	w.readFailed = slices.ContainsFunc(w.reads, func(x transition.LeasesRead) bool { return !x.Answered || x.Reason.BlamesServer() })
	w.pathFailed = len(w.stopped) > 0 || w.readFailed
}

// pathText describes what is known about the faulty component on the path to the API.
func (w *weighing) pathText() string {
	known := w.ControlPlane.AsOf
	text := ""
	switch n, stopped := known.APIServers, len(w.stopped); {
	case w.own.Count(func(s *silence.Silence) bool { return s.Found.Is }) == len(w.own):
		text = "; the faulty component is unknown, because " + notWatched
	case stopped > 0 && stopped < n:
		text = serversText(w.stopped) + ", and the other " + phrase.Count(n-stopped, "API server", "API servers") + " did not"
	case n == 1 && stopped > 0:
		text = "; the only API server stopped renewing its Lease, too, which points to etcd or to that API server"
	case stopped > 0:
		text = "; all API servers stopped renewing their Leases, too, which points to etcd"
	case known.NewestRenewalSeen.IsZero() || n == 0 && !known.Leader:
		text = "; the state of the API server is unknown, because kubeflap cannot watch API server Leases in kube-system"
	case known.Time.Sub(known.NewestRenewalSeen) > aroundBegin:
		text = "; no control-plane Lease was renewed either, which points to etcd or to the API server that kubeflap uses"
	case n > 0 && !w.readFailed && !w.own.Any(func(s *silence.Silence) bool { return known.NewestRenewalSeen.Sub(s.Began) <= w.Interval }):
		// An API server's Lease counts as late only after two missed renewals. Therefore, the newest renewal must also
		// be later than the nodes' missed heartbeats.
		text = "; " + phrase.Count(n, "API server Lease was", "API server Leases were") + " renewed on time, so etcd accepted writes"
	}
	return text + readText(w.reads)
}

func serversText(stopped []stop) string {
	var names []string
	at := stopped[0].since
	for _, s := range stopped {
		if s.host != "" {
			s.name = s.host + " (Lease " + s.name + ")"
		}
		if names = append(names, s.name); s.since.Before(at) {
			at = s.since
		}
	}
	return fmt.Sprintf("; the API server on %s stopped renewing its Lease at %s", strings.Join(names, ", "), at.UTC().Format(time.TimeOnly))
}

// readText describes the direct reads of Leases during the silences. A failed read takes precedence, because a later
// success does not show that the API server worked before.
func readText(reads []transition.LeasesRead) string {
	text := ""
	for _, x := range slices.Backward(reads) {
		switch {
		case !x.Answered:
			return "; the API server did not answer kubeflap's direct reads (" + string(x.Reason) + ")"
		case x.Reason.BlamesServer():
			return "; the API server could not read Leases (" + string(x.Reason) + ")"
		case x.Reason == "":
			text = "; the API server could read the Leases of these nodes from etcd, so their renewals did not reach it"
		}
	}
	return text
}

// leaderText says whether the kube-controller-manager's leader renewed its Lease during the silences.
func (w *weighing) leaderText() string {
	if w.own.Count(func(s *silence.Silence) bool { return s.Found.Is }) > 0 {
		return "; the state of the kube-controller-manager's leader is unknown, because " + notWatched
	}
	for _, s := range w.ControlPlane.stops {
		if s.name == event.LeaseControllerManager && !s.since.After(w.to) && (s.back.IsZero() || s.back.After(w.from)) {
			return "; the kube-controller-manager's leader did not renew its Lease for " + phrase.Duration(cmp.Or(s.back, w.Now).Sub(s.since))
		}
	}
	for _, t := range w.ControlPlane.changes {
		if !t.Before(w.from) && !t.After(w.to) {
			return "; the kube-controller-manager's leader changed at " + t.UTC().Format(time.TimeOnly)
		}
	}
	if !w.ControlPlane.AsOf.Leader {
		return "; the kube-controller-manager's leader is unknown, because kubeflap cannot watch its Lease in kube-system"
	}
	return "; the kube-controller-manager's leader renewed its Lease on time"
}
