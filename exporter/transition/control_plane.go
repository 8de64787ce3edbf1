package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// ControlPlane summarizes the control-plane Leases at a point in time. The zero value means that the Leases are not
// visible.
type ControlPlane struct {
	// Time is the time to which the summary refers.
	Time time.Time
	// NewestRenewalSeen is the time at which the watch delivered the newest renewal. It is zero if the Leases are not
	// visible.
	NewestRenewalSeen time.Time
	// Leader reports whether kubeflap has seen the kube-controller-manager's Lease. APIServers is the number of API
	// servers that renewed their Leases recently.
	Leader     bool
	APIServers int
}

// LeaderChanged means that the holder of the kube-controller-manager's Lease changed. `To` is the new holder, or empty
// if the leader released the Lease.
type LeaderChanged struct {
	At
	To string
}

func (x LeaderChanged) String() string {
	if x.To == "" {
		return "the leader of the kube-controller-manager released its Lease"
	}
	return "new leader of the kube-controller-manager: " + x.To
}

// ControlPlaneLeaseLate means that the leading kube-controller-manager or an API server stopped renewing its Lease. At
// least one other control-plane Lease is still being renewed.
type ControlPlaneLeaseLate struct {
	At
	// Name identifies the Lease. Host is the machine of the API server, if known.
	Name, Host string
	// `Since` is the time of the last renewal, by kubeflap's clock.
	Since time.Time
}

func (x ControlPlaneLeaseLate) String() string {
	return fmt.Sprintf("control plane: Lease %s was not renewed for %s", x.Name, round(x.Time.Sub(x.Since)))
}

// ControlPlaneLeaseRenewed means that a late control-plane Lease was renewed again.
type ControlPlaneLeaseRenewed struct {
	At
	Name    string
	Silence time.Duration
	// InTime reports whether the renewals were on time according to their renewTimes. If so, only the watch was late.
	InTime bool
}

func (x ControlPlaneLeaseRenewed) String() string {
	return fmt.Sprintf("control plane: Lease %s is renewed again after %s", x.Name, round(x.Silence))
}

// LeasesRead means that a direct read of Leases finished while nodes were silent.
type LeasesRead struct {
	At
	// Answered is set if the API server answered. Reason is the error of a failed read, or empty.
	Answered bool
	Reason   event.Reason
}

func (x LeasesRead) String() string {
	switch {
	case !x.Answered:
		return "a direct read of Leases got no response: " + string(x.Reason)
	case x.Reason.BlamesServer():
		return "the API server could not read Leases: " + string(x.Reason)
	case x.Reason != "":
		return "kubeflap could not read Leases: " + string(x.Reason)
	}
	return "the API server read Leases from etcd"
}

// GracePeriodKnown means that kubeflap learned the number of nodes, or a setting that affects the node monitor grace
// period.
type GracePeriodKnown struct {
	At
	// Period is the current grace period, or 0 if unknown. Default is the default value in this Kubernetes version.
	Period, Default time.Duration
	// Assumed is set if Period is only an assumption, based on the default.
	Assumed bool
	// Interval is the longest of the nodes' normal heartbeat intervals. It is 0 if there are no nodes.
	Interval time.Duration
	// Managed is set if a cloud provider runs the control plane. If so, users cannot set the grace period.
	Managed bool
	// Nodes is the number of nodes. It is 0 until the first list is complete.
	Nodes int
}

func (x GracePeriodKnown) String() string {
	text := "the grace period is unknown"
	switch {
	case x.Period > 0 && x.Assumed:
		text = "the grace period is assumed to be the default of " + round(x.Period).String()
	case x.Period > 0:
		text = "the grace period is " + round(x.Period).String()
	}
	if x.Interval > 0 {
		text += ", heartbeats are due every " + round(x.Interval).String()
	}
	return text
}
