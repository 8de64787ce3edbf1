package cause

import (
	"slices"
	"time"
)

// FinalAfter is the time after which the class of a loss or an outage is final. A plan or a rollout that leaves the Service
// without a ready address for this time has failed.
const FinalAfter = 5 * time.Minute

// Class says whether a lost address, an outage or a period of not Ready was expected. It is decided once, where the loss
// is counted. The label `class` of metrics has its value.
type Class uint8

// The classes. Unplanned is the class of everything that no other class explains.
const (
	// Unplanned means that nothing announced or explains it.
	Unplanned Class = iota
	// Planned means that the departure of the node or of the pod was announced before.
	Planned
	// Rollout means that the pods' owner replaces them by pods of another revision.
	Rollout
	// ScaledToZero means that the pods' owner wants no pods.
	ScaledToZero
	// Found means that it was so when kubeflap started, and nothing proves that it was otherwise before.
	Found

	// NumClasses is the number of classes, for arrays indexed by Class.
	NumClasses
)

var classes = [NumClasses]string{"unplanned", "planned", "rollout", "scaled_to_zero", "found"}

// ParseClass returns the class with a name, or Unplanned.
func ParseClass(name string) Class { return Class(max(slices.Index(classes[:], name), 0)) }

// String returns the value of the label `class`.
func (c Class) String() string { return classes[c] }
