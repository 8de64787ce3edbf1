package recording

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// inUTC returns a copy of the object with its times in UTC, so that recordings do not depend on the time zone. It does
// not modify the original object, because the tracker may be using that object.
func inUTC(object event.Object) event.Object {
	switch o := object.(type) {
	case *event.Node:
		node := *o
		node.Ready = conditionInUTC(o.Ready)
		node.DeletionTimestamp = utc(o.DeletionTimestamp)
		node.Taints = slices.Clone(o.Taints)
		for i := range node.Taints {
			node.Taints[i].Added = utc(node.Taints[i].Added)
		}
		node.Lifecycle = slices.Clone(o.Lifecycle)
		for i := range node.Lifecycle {
			node.Lifecycle[i].LastTransitionTime = utc(node.Lifecycle[i].LastTransitionTime)
		}
		return &node
	case *event.Lease:
		lease := *o
		lease.RenewTime = utc(o.RenewTime)
		return &lease
	case *event.ControlPlaneLease:
		lease := *o
		lease.RenewTime = utc(o.RenewTime)
		return &lease
	case *event.Pod:
		pod := *o
		pod.DeletionTimestamp = utc(o.DeletionTimestamp)
		pod.Ready = conditionInUTC(o.Ready)
		pod.Containers = slices.Clone(o.Containers)
		for i := range pod.Containers {
			pod.Containers[i].Started = utc(pod.Containers[i].Started)
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
	c.LastHeartbeatTime, c.LastTransitionTime = utc(c.LastHeartbeatTime), utc(c.LastTransitionTime)
	return &c
}

// utc converts a time to UTC. The API server accepts times whose year in UTC is outside 0 to 9999. JSON does not
// support such years, so utc returns the first or last second of the range.
func utc(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}
