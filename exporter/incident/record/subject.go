package record

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Kind is the kind of subject that an incident follows. It decides the scope, the summary and the remedy.
type Kind uint8

// The kinds of incident.
const (
	KindNode Kind = iota + 1
	// KindControlPlane: many nodes lost their heartbeats together.
	KindControlPlane
	// KindGracePeriod: no heartbeat is late, but the grace period is as short as the heartbeat interval.
	KindGracePeriod
	// KindControllerManager: the node controller marked nodes although their heartbeats were in time.
	KindControllerManager
	// KindClocks: the clocks of several nodes were set back together.
	KindClocks
	KindWorkload
	KindService
)

// Subject is what an incident follows.
type Subject struct {
	Kind            Kind
	Namespace, Name string
	Cause           cause.Cause
	// Nth counts the incidents of the control plane that are active at the same time, from 0.
	Nth int
}

// ControlPlane is the subject of nodes that lost their heartbeats together.
func ControlPlane() Subject {
	return Subject{Kind: KindControlPlane, Name: "control plane", Cause: cause.NodeHeartbeatLost}
}

// Clocks is the subject of nodes whose clocks were set back together.
func Clocks() Subject {
	return Subject{Kind: KindClocks, Name: "clocks", Cause: cause.NodeHeartbeatLost}
}

// Service is the subject of a Service that lost addresses.
func Service(x transition.Service, why cause.Cause) Subject {
	return Subject{Kind: KindService, Namespace: x.Namespace, Name: x.Name, Cause: why}
}

// OfNodes reports whether the subject is a node, or something that all nodes share.
func (s Subject) OfNodes() bool { return s.Kind != KindWorkload && s.Kind != KindService }

// key tells incidents apart. A node's causes follow from each other and are one incident.
// Each cause of a workload or a Service has its own remedy, so it is an incident of its own.
func (s Subject) key() string {
	switch s.Kind {
	case KindNode:
		return "node/" + s.Name
	case KindControlPlane:
		return "control plane" + strings.Repeat("+", s.Nth)
	case KindGracePeriod:
		return "grace period"
	case KindControllerManager:
		return "controller manager"
	case KindClocks:
		return "clocks"
	case KindWorkload:
		return "workload/" + s.Namespace + "/" + s.Name + "/" + s.Cause.String()
	}
	return "service/" + s.Namespace + "/" + s.Name + "/" + s.Cause.String()
}

func (s Subject) scope() incident.Scope {
	switch s.Kind {
	case KindNode:
		return incident.ScopeNode
	case KindControlPlane, KindGracePeriod, KindControllerManager, KindClocks:
		return incident.ScopeControlPlane
	case KindWorkload:
		return incident.ScopeWorkload
	}
	return incident.ScopeService
}

// fullName is how sentences name the subject.
func (s Subject) fullName() string {
	kind, name, found := strings.Cut(s.Name, "/")
	switch {
	case s.Kind != KindWorkload || !found:
		return s.Namespace + "/" + s.Name
	case kind == "Service":
		return "the pods of " + s.Namespace + "/" + name
	}
	return kind + " " + s.Namespace + "/" + name
}
