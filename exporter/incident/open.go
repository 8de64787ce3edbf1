package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// MaxOpen limits the number of addresses and the number of outages in Open.
const MaxOpen = 1000

// Open lists the objects of an incident that have not recovered. After a restart, kubeflap compares them with the
// cluster.
type Open struct {
	Nodes []string
	// Renewed holds the last renewTime of each node's Lease, by the node's name. It has no entry if the time is unknown.
	Renewed   map[string]time.Time
	Addresses []OpenAddress
	Outages   []OpenOutage
	// Withdrawn reports whether pod addresses that somebody removed from Endpoints are still missing.
	Withdrawn bool
	// Displaced reports whether newer incidents displaced this one while it was ongoing. It is then not listed any more,
	// not even after a restart.
	Displaced bool
}

// IsDisplaced reports whether newer incidents displaced this one while it was ongoing.
func (x *Incident) IsDisplaced() bool { return x.Open != nil && x.Open.Displaced }

// OpenAddress is an address that a Service still lists as not ready.
type OpenAddress struct {
	Namespace, Service string
	ID                 event.UID
}

// OpenOutage is the ongoing outage of a Service.
type OpenOutage struct {
	Namespace, Service string
	Since              time.Time
}
