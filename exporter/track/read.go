package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// asOf advances the tracker's time to `at`, and then runs a query. If `at` is earlier than the tracker's time, the time
// does not change.
func asOf[T any](t *Tracker, at time.Time, answer func() T) T {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(at)
	return answer()
}

// Nodes appends the nodes, sorted by name, to the given slice and returns the extended slice.
func (t *Tracker) Nodes(at time.Time, into []nodes.Node) []nodes.Node {
	return asOf(t, at, func() []nodes.Node { return t.nodes.All(into) })
}

// Services appends the Services, sorted by namespace and name, to the given slice and returns the extended slice.
func (t *Tracker) Services(at time.Time, into []services.Service) []services.Service {
	return asOf(t, at, func() []services.Service { return t.services.All(into) })
}

// Namespaces appends namespaces to the given slice and returns the extended slice. It includes each namespace that has
// pods, or had pods in the last hour.
func (t *Tracker) Namespaces(at time.Time, into []pods.Namespace) []pods.Namespace {
	return asOf(t, at, func() []pods.Namespace { return t.pods.Namespaces(into) })
}

// OutageStarts appends the starts of the Services' outages to the given slice and returns the extended slice.
func (t *Tracker) OutageStarts(at time.Time, into []services.OutageStart) []services.OutageStart {
	return asOf(t, at, func() []services.OutageStart { return t.services.OutageStarts(into) })
}

// Watches appends the state of each resource's watch to the given slice and returns the extended slice.
func (t *Tracker) Watches(at time.Time, into []watches.Watch) []watches.Watch {
	return asOf(t, at, func() []watches.Watch { return t.watches.All(into) })
}

// Coverage returns when the resources were watched.
func (t *Tracker) Coverage(at time.Time) watches.Coverage { return asOf(t, at, t.watches.Coverage) }

// Unready returns the watches that prevent kubeflap from being ready.
func (t *Tracker) Unready(at time.Time) []watches.Watch { return asOf(t, at, t.watches.Unready) }

// LeasesToRead returns the names of nodes whose Leases kubeflap should read directly, without the watch.
func (t *Tracker) LeasesToRead(at time.Time) []string { return asOf(t, at, t.nodes.LeasesToRead) }

// LeasesBehind reports whether the Lease watch must be reopened because it lags. The watch lags if a direct read has
// shown a renewal that the watch has not shown in time.
func (t *Tracker) LeasesBehind(at time.Time) bool { return asOf(t, at, t.nodes.LeasesBehind) }

// Synced reports whether every resource that can be watched has been listed.
func (t *Tracker) Synced() bool { return asOf(t, time.Time{}, t.watches.AllSynced) }

// AddressSource returns the resource from which address states are currently read.
func (t *Tracker) AddressSource() event.Kind {
	return asOf(t, time.Time{}, func() event.Kind { return t.services.AddressSource() })
}

// GracePeriod returns the current node monitor grace period and its source. The period is 0 if unknown.
func (t *Tracker) GracePeriod() controlplane.Setting {
	return asOf(t, time.Time{}, func() controlplane.Setting { return t.controlPlane.Grace.Setting })
}

// GraceTable compares grace periods.
func (t *Tracker) GraceTable(at time.Time) controlplane.Table { return asOf(t, at, t.nodes.GraceTable) }

// ManagerFlags returns other flags of the kube-controller-manager.
func (t *Tracker) ManagerFlags() event.ControllerManagerFlags {
	return asOf(t, time.Time{}, t.controlPlane.Grace.Flags)
}
