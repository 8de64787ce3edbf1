package incident

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Kind classifies the subjects of incidents. It determines the scope, the summary and the remedy.
type Kind uint8

// The kinds of subjects.
const (
	KindNode Kind = iota + 1
	// KindControlPlane means that many nodes fell silent together.
	KindControlPlane
	// KindGracePeriod means that no heartbeat is late, but the grace period is as short as the heartbeat interval.
	KindGracePeriod
	// KindControllerManager means that the node controller set nodes with punctual heartbeats to Unknown, or left
	// silent nodes Ready.
	KindControllerManager
	KindWorkload
	KindService
)

// Subject identifies the object or component that an incident is about.
type Subject struct {
	Kind            Kind
	Namespace, Name string
	Cause           cause.Cause
	// Nth distinguishes the control-plane incidents that are active at the same time. It is 0 for the first one.
	Nth int
}

// ControlPlaneSubject returns the subject for nodes that fell silent together.
func ControlPlaneSubject() Subject {
	return Subject{Kind: KindControlPlane, Name: "control plane", Cause: cause.NodeHeartbeatLost}
}

// ServiceSubject returns the subject for an incident of a Service with the given cause.
func ServiceSubject(x transition.Service, why cause.Cause) Subject {
	return Subject{Kind: KindService, Namespace: x.Namespace, Name: x.Name, Cause: why}
}

// IsAboutNodes reports whether the subject is a node, or something that nodes share.
func (s Subject) IsAboutNodes() bool { return s.Kind != KindWorkload && s.Kind != KindService }

// isRelabelled reports whether the subject is pods that were relabelled, so that a Service no longer selects them. A change
// of the Service itself has the Service as its subject.
func (s Subject) isRelabelled() bool {
	return s.Kind == KindWorkload && s.Cause == cause.ServiceChanged
}

// Key returns the key of an active incident. All failures of a node share one key, because their causes are related.
// For a workload or a Service, each cause has its own key, because the remedy depends on the cause.
func (s Subject) Key() string {
	switch s.Kind {
	case KindNode:
		return "node/" + s.Name
	case KindControlPlane:
		return "control plane" + strings.Repeat("+", s.Nth)
	case KindGracePeriod:
		return "grace period"
	case KindControllerManager:
		return "controller manager"
	}
	return string(s.Scope()) + "/" + s.Namespace + "/" + s.Name + "/" + s.Cause.String()
}

// Scope returns the part of the cluster that incidents of the subject concern.
func (s Subject) Scope() Scope {
	switch s.Kind {
	case KindNode:
		return ScopeNode
	case KindWorkload:
		return ScopeWorkload
	case KindService:
		return ScopeService
	}
	return ScopeControlPlane
}

// FullName returns the name of the subject as used in sentences.
func (s Subject) FullName() string {
	owner, name, found := strings.Cut(s.Name, "/")
	switch {
	case s.Kind != KindWorkload || !found:
		return s.Namespace + "/" + s.Name
	case owner == "Service":
		return "the pods of " + s.Namespace + "/" + name
	}
	return owner + " " + s.Namespace + "/" + name
}
