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
	// `Since` is the last time at which the watch certainly worked. kubeflap notices a dead connection only after a
	// delay.
	Since time.Time
}

func (x WatchBroke) String() string {
	return fmt.Sprintf("watch of %s broke (%s): changes are missed until it works again", x.Resource, x.Reason)
}

// WatchWorks means that the watch of a resource works again.
type WatchWorks struct {
	At
	Resource event.Kind
	// Blind is how long the watch was broken.
	Blind time.Duration
}

func (x WatchWorks) String() string {
	return fmt.Sprintf("watch of %s works again, blind for %s", x.Resource, round(x.Blind))
}
