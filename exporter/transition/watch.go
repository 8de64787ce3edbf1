package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// WatchBroke means that the watch of a resource broke.
type WatchBroke struct {
	At
	Resource event.Kind
	Reason   event.Reason
	// Since is the last sign of life. It is noticed later that a connection is dead.
	Since time.Time
}

// Fields returns the names for a structured log line.
func (WatchBroke) Fields() Fields { return Fields{} }

func (x WatchBroke) String() string {
	return fmt.Sprintf("watch of %s broke (%s): what happens now is not seen", x.Resource, x.Reason)
}

// WatchWorks means that the watch of a resource works again.
type WatchWorks struct {
	At
	Resource event.Kind
	// Blind is how long it was broken.
	Blind time.Duration
}

// Fields returns the names for a structured log line.
func (WatchWorks) Fields() Fields { return Fields{} }

func (x WatchWorks) String() string {
	return fmt.Sprintf("watch of %s works again, blind for %s", x.Resource, round(x.Blind))
}
