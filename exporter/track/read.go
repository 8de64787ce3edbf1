package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/endpoints"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// asOf answers a question as of a time, or as of the newest event if that is later.
func asOf[T any](t *Tracker, at time.Time, answer func() T) T {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(at)
	return answer()
}

// Nodes appends the nodes to into, sorted by name.
func (t *Tracker) Nodes(at time.Time, into []nodes.Node) []nodes.Node {
	return asOf(t, at, func() []nodes.Node { return t.nodes.All(into) })
}

// Services appends the Services to into, sorted by namespace and name.
func (t *Tracker) Services(at time.Time, into []endpoints.Service) []endpoints.Service {
	return asOf(t, at, func() []endpoints.Service { return t.endpoints.All(into) })
}

// Namespaces appends the namespaces that have pods, or had some in the last hour, to the slice into.
func (t *Tracker) Namespaces(at time.Time, into []pods.Namespace) []pods.Namespace {
	return asOf(t, at, func() []pods.Namespace { return t.pods.Namespaces(into) })
}

// Misreported appends the namespaces that have pods whose Ready is wrong to into.
func (t *Tracker) Misreported(at time.Time, into []pods.Misreported) []pods.Misreported {
	return asOf(t, at, func() []pods.Misreported { return t.pods.Misreported(into) })
}

// Consumers appends the namespaces that have Services, or had some in the last hour, to the slice into.
func (t *Tracker) Consumers(at time.Time, into []consumers.Namespace) []consumers.Namespace {
	return asOf(t, at, func() []consumers.Namespace { return t.endpoints.Consumers(into) })
}

// StaleReadds appends the Services that had stale re-adds to into, sorted by namespace and name.
func (t *Tracker) StaleReadds(at time.Time, into []consumers.StaleReadds) []consumers.StaleReadds {
	return asOf(t, at, func() []consumers.StaleReadds { return t.endpoints.StaleReadds(into) })
}

// Watches appends the state of each resource's watch to into.
func (t *Tracker) Watches(at time.Time, into []watches.Watch) []watches.Watch {
	return asOf(t, at, func() []watches.Watch { return t.watches.All(into) })
}

// Unwatched are the watches that show nothing now.
func (t *Tracker) Unwatched(at time.Time) []watches.Watch { return asOf(t, at, t.watches.Unwatched) }

// Unready are the watches that make kubeflap not ready.
func (t *Tracker) Unready(at time.Time) []watches.Watch { return asOf(t, at, t.watches.Unready) }

// LeasesToRead are the nodes whose Leases are to be read directly; none if there is no need to.
func (t *Tracker) LeasesToRead(at time.Time) []string { return asOf(t, at, t.nodes.LeasesToRead) }

// LeasesBehind reports whether the watch of Leases is to be opened again: it has not shown what a direct read has.
func (t *Tracker) LeasesBehind(at time.Time) bool { return asOf(t, at, t.nodes.LeasesBehind) }

// Synced reports whether every resource that can be watched has been listed.
func (t *Tracker) Synced() bool { return asOf(t, time.Time{}, t.watches.AllSynced) }

// AddressSource is the resource that address states are read from now.
func (t *Tracker) AddressSource() event.Kind { return asOf(t, time.Time{}, t.endpoints.Source) }

// GracePeriod is the node monitor grace period in force; Period is 0 while it is not known.
func (t *Tracker) GracePeriod() grace.Setting { return asOf(t, time.Time{}, t.nodes.GracePeriod) }

// Heartbeats is how often the nodes send heartbeats, and who runs the control plane that waits for them.
func (t *Tracker) Heartbeats() nodes.Heartbeats { return asOf(t, time.Time{}, t.nodes.Heartbeats) }

// ManagerFlags appends the flags that are set in the pods of the kube-controller-manager to into.
func (t *Tracker) ManagerFlags(into []grace.Flag) []grace.Flag {
	return asOf(t, time.Time{}, func() []grace.Flag { return t.nodes.ManagerFlags(into) })
}

// ShortTolerations appends the namespaces with pods that tolerate a node that is not Ready for a short time only to into.
func (t *Tracker) ShortTolerations(at time.Time, into []pods.ShortTolerations) []pods.ShortTolerations {
	return asOf(t, at, func() []pods.ShortTolerations { return t.pods.ShortTolerations(into) })
}
