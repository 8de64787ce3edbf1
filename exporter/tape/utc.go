package tape

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// inUTC returns the object with its times in UTC, so that a recording does not
// depend on the zone in which it was made. The object itself is not changed: the
// live fold may hold it.
func inUTC(object event.Object) event.Object {
	switch o := object.(type) {
	case *event.Node:
		node := *o
		node.Ready = conditionInUTC(o.Ready)
		return &node
	case *event.Lease:
		lease := *o
		lease.Renew = o.Renew.UTC()
		return &lease
	case *event.Pod:
		pod := *o
		pod.Deletion = o.Deletion.UTC()
		pod.Ready = conditionInUTC(o.Ready)
		pod.Containers = slices.Clone(o.Containers)
		for i := range pod.Containers {
			pod.Containers[i].Started = pod.Containers[i].Started.UTC()
		}
		return &pod
	}
	return object
}

func conditionInUTC(condition *event.Condition) *event.Condition {
	if condition == nil {
		return nil
	}
	c := *condition
	c.Heartbeat, c.Transition = c.Heartbeat.UTC(), c.Transition.UTC()
	return &c
}
