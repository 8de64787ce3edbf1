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
	// aroundBegin is how far the stop of an API server and the beginning of silences with the same cause may lie apart: each renews every 10 s.
	aroundBegin = 15 * time.Second
	// maxStops bounds the stops, and the reads, that are kept.
	maxStops = 100
)

// ControlPlane is what Leases in kube-system and direct reads have shown of the control plane. The zero value knows nothing.
type ControlPlane struct {
	// AsOf is what was known at the newest loss of a node.
	AsOf    transition.ControlPlane
	stops   []stop
	changes []time.Time
	reads   []transition.LeasesRead
}

// stop is the time in which a Lease was not renewed; back is zero while it lasts.
type stop struct {
	name, host  string
	since, back time.Time
}

// Late notes that a Lease is not renewed.
func (c *ControlPlane) Late(x transition.ControlPlaneLeaseLate) {
	c.stops = bounded(append(c.stops, stop{name: x.Name, host: x.Host, since: x.Since}))
}

// Renewed notes that a Lease is renewed again.
func (c *ControlPlane) Renewed(x transition.ControlPlaneLeaseRenewed) {
	if x.InTime {
		c.stops = slices.DeleteFunc(c.stops, func(s stop) bool { return s.name == x.Name && s.back.IsZero() })
	}
	for i := range c.stops {
		if s := &c.stops[i]; s.name == x.Name && s.back.IsZero() {
			s.back = x.Time
		}
	}
}

// StoppedSince are the Leases that were not renewed since t or later, each with the time of the last renewal.
func (c *ControlPlane) StoppedSince(t time.Time) map[string]time.Time {
	all := map[string]time.Time{}
	for _, s := range c.stops {
		if !s.since.Before(t) {
			all[s.name] = s.since
		}
	}
	return all
}

// Changed notes that the leader changed.
func (c *ControlPlane) Changed(t time.Time) { c.changes = bounded(append(c.changes, t)) }

// Read notes a direct read of Leases.
func (c *ControlPlane) Read(x transition.LeasesRead) { c.reads = bounded(append(c.reads, x)) }

func bounded[T any](all []T) []T {
	if len(all) > maxStops {
		return slices.Delete(all, 0, 1)
	}
	return all
}

// began is when the first of the silences began.
func (f *NodeLoss) began() time.Time {
	from, _ := f.span()
	return from
}

// span is the time from the first silence to the end of the last one, or now.
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

// lastBegan is when the last of the silences began.
func (f *NodeLoss) lastBegan() (last time.Time) {
	for _, s := range f.Silences {
		if s.Began.After(last) {
			last = s.Began
		}
	}
	return last
}

// leaderText describes the state of the leading kube-controller-manager during the silences.
func (f *NodeLoss) leaderText() string {
	if f.found() > 0 {
		return "; what its leader did is not known, as " + notWatched
	}
	from, to := f.span()
	c := &f.ControlPlane
	for _, s := range c.stops {
		if s.name == leader && !s.since.After(to) && (s.back.IsZero() || s.back.After(from)) {
			end := s.back
			if end.IsZero() {
				end = f.Now
			}
			return "; its leader did not renew its Lease for " + phrase.Duration(end.Sub(s.since))
		}
	}
	for _, t := range c.changes {
		if !t.Before(from) && !t.After(to) {
			return "; its leader changed at " + t.UTC().Format(time.TimeOnly)
		}
	}
	if !c.AsOf.Leader {
		return "; its leader is not known, as kubeflap does not see its Lease in kube-system"
	}
	return "; its leader renewed its Lease in time"
}

// leader and serverPrefix name the Leases in kube-system (event.LeaseControllerManager, event.LeaseAPIServerPrefix).
const (
	leader       = "kube-controller-manager"
	serverPrefix = "apiserver-"
)

// stopped are the API servers that stopped renewing their Leases when silences began, at from.
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

// allStopped reports whether all API servers stopped renewing their Leases when silences began. What they share is etcd.
func (c *ControlPlane) allStopped(from time.Time) bool {
	names, _ := c.stopped(from)
	return len(names) > 0 && len(names) >= c.AsOf.APIServers
}

// pathText names the component on the path that is at fault, as far as that is known.
func (f *NodeLoss) pathText() string {
	names, at := f.ControlPlane.stopped(f.began())
	known := f.ControlPlane.AsOf
	text := ""
	switch n := known.APIServers; {
	case f.found() == len(f.Silences):
		text = "; which component is not known, as " + notWatched
	case len(names) > 0 && len(names) < n:
		text = fmt.Sprintf("; the API server on %s stopped renewing its Lease at %s, and the other %s did not", strings.Join(names, ", "),
			at.UTC().Format(time.TimeOnly), phrase.Count(n-len(names), "API server", "API servers"))
	case n == 1 && len(names) > 0:
		text = "; the only API server stopped renewing its Lease, too: etcd, or that API server"
	case len(names) > 0:
		text = "; all API servers stopped renewing their Leases, too: etcd"
	case known.Shown.IsZero() || n == 0 && !known.Leader:
		text = "; which API server is not known, as kubeflap does not see their Leases in kube-system"
	case known.Time.Sub(known.Shown) > aroundBegin:
		text = "; no Lease of the control plane was renewed either: etcd, or the API server that kubeflap uses"
	case n > 0 && known.Shown.Sub(f.lastBegan()) > f.Interval:
		// Renewed when the silent nodes should have been: an API server is late only after two renewals.
		text = fmt.Sprintf("; %s renewed in time, so etcd took writes", phrase.Count(n, "Lease of an API server was", "Leases of API servers were"))
	}
	return text + f.ControlPlane.readText(f.span())
}

// readFailed reports whether a direct read of Leases has failed between two times.
func (c *ControlPlane) readFailed(from, to time.Time) bool {
	return slices.ContainsFunc(c.reads, func(x transition.LeasesRead) bool {
		return !x.Time.Before(from) && !x.Time.After(to) && (!x.Answered || x.Reason != "")
	})
}

// readText describes the results of direct reads during the silences. A read that succeeds after others failed proves nothing
// about the time before.
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
