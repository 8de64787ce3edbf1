package verdict

// Class says whose fault a node's silence is. The label `class` of kubeflap_node_silence_start_timestamp_seconds has its
// value.
type Class uint8

// The classes.
const (
	// ClassUndecided means that there is no verdict yet, or that it is undecided.
	ClassUndecided Class = iota
	// ClassOwn means that the node itself is at fault.
	ClassOwn
	// ClassShared means that something is at fault that nodes share.
	ClassShared
	// ClassPlanned means that the node's departure was announced before.
	ClassPlanned
	// ClassDeleted means that the Node was deleted during the silence.
	ClassDeleted

	// NumClasses is the number of classes, for arrays indexed by Class.
	NumClasses
)

var classes = [NumClasses]string{"undecided", "own", "shared", "planned", "deleted"}

// String returns the value of the label `class`.
func (c Class) String() string { return classes[c] }

// Class returns the class of the silences in an incident with this verdict.
func (v Verdict) Class() Class {
	switch v {
	case Node, NodeRebooted:
		return ClassOwn
	case SharedPath, ControllerManager, GracePeriod:
		return ClassShared
	case Planned:
		return ClassPlanned
	}
	return ClassUndecided
}
