package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// MaxOpen limits the number of addresses and the number of outages in Open.
const MaxOpen = 1000

// Open lists those objects of an incident that have not recovered. After a restart, kubeflap checks whether these
// objects have recovered.
type Open struct {
	Nodes []string
	// Renewed maps the name of a node to the last renewTime of its Lease. It has no entry if the time is unknown.
	Renewed   map[string]time.Time
	Addresses []OpenAddress
	Outages   []OpenOutage
	// Withdrawn is set while pod addresses are missing from Endpoints because somebody removed them.
	Withdrawn bool
	// Displaced reports whether newer incidents displaced this one while it was ongoing. kubeflap no longer lists such
	// an incident, not even after a restart.
	Displaced bool
}

// IsDisplaced reports whether newer incidents displaced this one while it was ongoing.
func (x *Incident) IsDisplaced() bool { return x.Open != nil && x.Open.Displaced }

// OpenAddress is a lost address that its Service lists as not ready.
type OpenAddress struct {
	Namespace, Service string
	ID                 event.UID
}

// OpenOutage is the ongoing outage of a Service.
type OpenOutage struct {
	Namespace, Service string
	Since              time.Time
}
