package event

import "time"

// Written is a time that a node or a controller wrote by its own clock. Clocks can differ. The compiler therefore rejects
// comparisons of a Written with the time at which kubeflap saw something (time.Time), and with times by other clocks.
type Written[By any] time.Time

// NodeTime is a time by a node's clock.
type NodeTime = Written[byNode]

// ControllerTime is a time by the clock of a part of the control plane.
type ControllerTime = Written[byController]

type (
	byNode       struct{}
	byController struct{}
)

// IsZero reports whether there is no time.
func (t Written[By]) IsZero() bool { return time.Time(t).IsZero() }

// Sub returns the duration from u to t.
func (t Written[By]) Sub(u Written[By]) time.Duration { return time.Time(t).Sub(time.Time(u)) }

// Add returns the time that is later by d.
func (t Written[By]) Add(d time.Duration) Written[By] { return Written[By](time.Time(t).Add(d)) }

// Before reports whether t is before u.
func (t Written[By]) Before(u Written[By]) bool { return time.Time(t).Before(time.Time(u)) }

// Equal reports whether t and u are the same time.
func (t Written[By]) Equal(u Written[By]) bool { return time.Time(t).Equal(time.Time(u)) }

// IfClocksAgree returns the time by kubeflap's clock, under the assumption that the two clocks agree.
func (t Written[By]) IfClocksAgree() time.Time { return time.Time(t) }
