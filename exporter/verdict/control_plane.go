package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
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
	if x.InTime {
		c.stops = slices.DeleteFunc(c.stops, func(s stop) bool { return s.name == x.Name && s.back.IsZero() })
	}
	for i := range c.stops {
		if s := &c.stops[i]; s.name == x.Name && s.back.IsZero() {
			s.back = x.Time
		}
	}
}

// StoppedSince returns the Leases whose renewals stopped at t or later, each with the time of its last renewal.
func (c *ControlPlane) StoppedSince(t time.Time) map[string]time.Time {
	all := map[string]time.Time{}
	for _, s := range c.stops {
		if !s.since.Before(t) {
			all[s.name] = s.since
		}
	}
	return all
}

// LeaderChanged records a leader change.
func (c *ControlPlane) LeaderChanged(t time.Time) { c.changes = bounded(append(c.changes, t)) }

// LeasesRead records the result of a direct read of Leases.
func (c *ControlPlane) LeasesRead(x transition.LeasesRead) { c.reads = bounded(append(c.reads, x)) }

func bounded[T any](all []T) []T {
	if len(all) > maxStops {
		return slices.Delete(all, 0, 1)
	}
	return all
}

// began returns the start of the first silence.
func (f *NodeLoss) began() time.Time {
	from, _ := f.span()
	return from
}

// span returns the start of the first silence and the end of the last silence. If a silence is ongoing, the end is Now.
func (f *NodeLoss) span() (from, to time.Time) {
	for i, s := range f.Silences {
		if i == 0 || s.Began.Before(from) {
			from = s.Began
		}
		end := s.Ended
		if end.IsZero() {
			end = f.Now
		}
		if end.After(to) {
			to = end
		}
	}
	return from, to
}

// lastBegan returns the start of the latest silence.
func (f *NodeLoss) lastBegan() (last time.Time) {
	for _, s := range f.Silences {
		if s.Began.After(last) {
			last = s.Began
		}
	}
	return last
}

// leaderText says whether the kube-controller-manager's leader renewed its Lease during the silences.
func (f *NodeLoss) leaderText() string {
	if f.countFound() > 0 {
		return "; the state of the kube-controller-manager's leader is unknown, because " + notWatched
	}
	from, to := f.span()
	c := &f.ControlPlane
	for _, s := range c.stops {
		if s.name == leader && !s.since.After(to) && (s.back.IsZero() || s.back.After(from)) {
			end := s.back
			if end.IsZero() {
				end = f.Now
			}
			return "; the kube-controller-manager's leader did not renew its Lease for " + phrase.Duration(end.Sub(s.since))
		}
	}
	for _, t := range c.changes {
		if !t.Before(from) && !t.After(to) {
			return "; the kube-controller-manager's leader changed at " + t.UTC().Format(time.TimeOnly)
		}
	}
	if !c.AsOf.Leader {
		return "; the kube-controller-manager's leader is unknown, because kubeflap cannot watch its Lease in kube-system"
	}
	return "; the kube-controller-manager's leader renewed its Lease on time"
}

// leader and serverPrefix equal event.LeaseControllerManager and event.LeaseAPIServerPrefix. This package must not
// import event.
const (
	leader       = "kube-controller-manager"
	serverPrefix = "apiserver-"
)

// stopped returns the API servers that stopped renewing their Leases around the given time. It also returns the
// earliest time at which one of them stopped.
func (c *ControlPlane) stopped(from time.Time) (names []string, at time.Time) {
	for _, s := range c.stops {
		if strings.HasPrefix(s.name, serverPrefix) && s.since.Sub(from).Abs() <= aroundBegin {
			name := s.name
			if s.host != "" {
				name = s.host + " (Lease " + s.name + ")"
			}
			if len(names) == 0 || s.since.Before(at) {
				at = s.since
			}
			names = append(names, name)
		}
	}
	return names, at
}

// allStopped reports whether all API servers stopped renewing their Leases around the given time. If so, etcd may be at
// fault.
func (c *ControlPlane) allStopped(from time.Time) bool {
	names, _ := c.stopped(from)
	return len(names) > 0 && len(names) >= c.AsOf.APIServers
}

// pathText describes what is known about the faulty component on the path to the API.
func (f *NodeLoss) pathText() string {
	names, at := f.ControlPlane.stopped(f.began())
	known := f.ControlPlane.AsOf
	text := ""
	switch n := known.APIServers; {
	case f.countFound() == len(f.Silences):
		text = "; the faulty component is unknown, because " + notWatched
	case len(names) > 0 && len(names) < n:
		text = fmt.Sprintf("; the API server on %s stopped renewing its Lease at %s, and the other %s did not", strings.Join(names, ", "),
			at.UTC().Format(time.TimeOnly), phrase.Count(n-len(names), "API server", "API servers"))
	case n == 1 && len(names) > 0:
		text = "; the only API server stopped renewing its Lease, too, which points to etcd or to that API server"
	case len(names) > 0:
		text = "; all API servers stopped renewing their Leases, too, which points to etcd"
	case known.NewestRenewalSeen.IsZero() || n == 0 && !known.Leader:
		text = "; the state of the API server is unknown, because kubeflap cannot watch API server Leases in kube-system"
	case known.Time.Sub(known.NewestRenewalSeen) > aroundBegin:
		text = "; no control-plane Lease was renewed either, which points to etcd or to the API server that kubeflap uses"
	case n > 0 && known.NewestRenewalSeen.Sub(f.lastBegan()) > f.Interval:
		// An API server's Lease counts as late only after two missed renewals. Therefore, the newest renewal must also
		// be later than the nodes' missed heartbeats.
		text = fmt.Sprintf("; %s renewed on time, so etcd accepted writes", phrase.Count(n, "API server Lease was", "API server Leases were"))
	}
	return text + f.ControlPlane.readText(f.span())
}

// readFailed reports whether a direct read of Leases failed in the given period.
func (c *ControlPlane) readFailed(from, to time.Time) bool {
	return slices.ContainsFunc(c.reads, func(x transition.LeasesRead) bool {
		return !x.Time.Before(from) && !x.Time.After(to) && (!x.Answered || x.Reason != "")
	})
}

// readText describes the direct reads of Leases during the silences. A failed read takes precedence, because a later
// success does not show that the API server worked before.
func (c *ControlPlane) readText(from, to time.Time) string {
	text := ""
	for _, x := range slices.Backward(c.reads) {
		switch {
		case x.Time.Before(from) || x.Time.After(to):
		case !x.Answered:
			return "; the API server did not answer kubeflap's direct reads (" + string(x.Reason) + ")"
		case x.Reason != "":
			return "; the API server could not read Leases (" + string(x.Reason) + ")"
		default:
			text = "; the API server could read the Leases of these nodes from etcd, so their renewals did not reach it"
		}
	}
	return text
}
