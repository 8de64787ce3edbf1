package recording

import (
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Anonymiser replaces all data that identifies a cluster: names, addresses, UIDs, images, labels and free text. It
// keeps times, numbers and the words that Kubernetes itself writes (see anonymise_words.go). A name gets the same
// pseudonym in the whole recording, so a replay of the anonymised recording gives the same results as the original.
// Pseudonyms are numbered in order of first appearance, as in node-1. Only one goroutine may use an Anonymiser.
type Anonymiser struct{ pseudonyms }

// NewAnonymiser returns an Anonymiser for one recording.
func NewAnonymiser() *Anonymiser { return &Anonymiser{newPseudonyms()} }

// Header returns the anonymised recording's header. It drops the title, which is free text.
func (a *Anonymiser) Header(header Header) Header {
	return Header{Recorded: header.Recorded, Kubernetes: release(header.Kubernetes), Anonymised: true}
}

// Event returns the event with an anonymised copy of its object. It does not modify the original object, because the
// tracker may be using that object.
func (a *Anonymiser) Event(ev event.Event) event.Event {
	if ev.Reason != "" && !ev.Reason.Known() {
		ev.Reason = other
	}
	// Drop objects of unknown types. The Writer then rejects the event.
	object := ev.Object
	ev.Object = nil
	switch o := object.(type) {
	case *event.Node:
		ev.Object = a.node(*o)
	case *event.Lease:
		ev.Object = a.lease(*o)
	case *event.Pod:
		ev.Object = a.pod(*o)
	case *event.Service:
		ev.Object = a.service(*o)
	case *event.EndpointSlice:
		ev.Object = a.slice(*o)
	case *event.Endpoints:
		ev.Object = a.endpoints(*o)
	case *event.Cluster:
		ev.Object = a.cluster(*o)
	case *event.ControlPlaneLease:
		ev.Object = a.controlPlaneLease(*o)
	}
	return ev
}

// mapSlice calls `replace` for every entry of a list, and returns the results as a new list.
func mapSlice[T any](list []T, replace func(T) T) []T {
	replaced := slices.Clone(list)
	for i, entry := range list {
		replaced[i] = replace(entry)
	}
	return replaced
}

// message returns Kubernetes' own messages with pseudonyms for containers. For all other messages, it returns an empty
// string.
func (a *Anonymiser) message(namespace, original string) string {
	if nodeMessages.contain(original) {
		return original
	}
	parts := strings.Split(original, ", ")
	for i, part := range parts {
		// These phrases come from pkg/kubelet/status, GenerateContainersReadyCondition.
		words, list, ok := strings.Cut(part, ": [")
		names, closed := strings.CutSuffix(list, "]")
		if !ok || !closed || (words != "containers with unready status" && words != "containers with unknown status") {
			return ""
		}
		replaced := mapSlice(strings.Fields(names), func(original string) string { return a.containerName(namespace, original) })
		parts[i] = words + ": [" + strings.Join(replaced, " ") + "]"
	}
	return strings.Join(parts, ", ")
}
