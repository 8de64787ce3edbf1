package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// ControlPlane is what is known of the Leases of the control plane at a time. The zero value is of one whose Leases cannot be seen.
type ControlPlane struct {
	// Time is when that was known.
	Time time.Time
	// Shown is when the watch last showed a renewal, zero if the Leases cannot be seen.
	Shown time.Time
	// Leader: that of the kube-controller-manager is known. APIServers is how many API servers have renewed theirs lately.
	Leader     bool
	APIServers int
}

// LeaderChanged means that another kube-controller-manager leads.
type LeaderChanged struct {
	At
	To string
}

// Fields returns the names for a structured log line.
func (LeaderChanged) Fields() Fields { return Fields{} }

func (x LeaderChanged) String() string {
	if x.To == "" {
		return "no kube-controller-manager leads: the leader gave its Lease up"
	}
	return "another kube-controller-manager leads: " + x.To
}

// ControlPlaneLeaseLate means that the leading kube-controller-manager or an API server does not renew its Lease, while another component does.
type ControlPlaneLeaseLate struct {
	At
	// Name is that of the Lease, Host that of the API server's machine if it is known.
	Name, Host string
	// Since is the last renewal, by kubeflap's clock.
	Since time.Time
}

// Fields returns the names for a structured log line.
func (ControlPlaneLeaseLate) Fields() Fields { return Fields{} }

func (x ControlPlaneLeaseLate) String() string {
	return fmt.Sprintf("control plane: Lease %s was not renewed for %s", x.Name, round(x.Time.Sub(x.Since)))
}

// ControlPlaneLeaseRenewed means that such a Lease is renewed again.
type ControlPlaneLeaseRenewed struct {
	At
	Name    string
	Silence time.Duration
	// InTime: by its renewTime it was never late, so the watch was.
	InTime bool
}

// Fields returns the names for a structured log line.
func (ControlPlaneLeaseRenewed) Fields() Fields { return Fields{} }

func (x ControlPlaneLeaseRenewed) String() string {
	return fmt.Sprintf("control plane: Lease %s is renewed again, after %s", x.Name, round(x.Silence))
}

// LeasesRead means that a direct read of Leases has ended while nodes were silent.
type LeasesRead struct {
	At
	// Answered: the API server answered. Reason says why the Leases could not be read, empty if they were.
	Answered bool
	Reason   event.Reason
}

// Fields returns the names for a structured log line.
func (LeasesRead) Fields() Fields { return Fields{} }

func (x LeasesRead) String() string {
	switch {
	case !x.Answered:
		return "a direct read of Leases was not answered: " + string(x.Reason)
	case x.Reason != "":
		return "the API server could not read Leases: " + string(x.Reason)
	}
	return "the API server read Leases from etcd"
}
