package recording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Anonymiser replaces all data that identifies a cluster: names, addresses, UIDs, images, labels and free text. It
// keeps times, numbers and the words that Kubernetes itself writes (see anonymise_words.go). A name gets the same
// pseudonym in the whole recording, so a replay of the anonymised recording gives the same results as the original.
// Pseudonyms are numbered in order of first appearance, as in node-1. Only one goroutine may use an Anonymiser.
type Anonymiser struct {
	pseudonyms map[realName]string
	count      map[string]uint32
	uids       map[event.UID]event.UID
}

// realName is a name to replace. Equal names in different namespaces get different pseudonyms.
type realName struct{ noun, namespace, text string }

// NewAnonymiser returns an Anonymiser for one recording.
func NewAnonymiser() *Anonymiser {
	return &Anonymiser{
		pseudonyms: make(map[realName]string),
		count:      make(map[string]uint32),
		uids:       make(map[event.UID]event.UID),
	}
}

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

// pseudonym returns a noun and a number, as in "node-7" for the seventh node name. It returns "" for an empty name.
func (a *Anonymiser) pseudonym(n realName) string {
	if n.text == "" {
		return ""
	}
	if known, ok := a.pseudonyms[n]; ok {
		return known
	}
	made := fmt.Sprintf("%s-%d", n.noun, a.number(n.noun))
	a.pseudonyms[n] = made
	return made
}

func (a *Anonymiser) number(noun string) uint32 {
	a.count[noun]++
	return a.count[noun]
}

// unlessKnown returns a word of Kubernetes unchanged, and a pseudonym for any other name.
func (a *Anonymiser) unlessKnown(known bool, n realName) string {
	if known {
		return n.text
	}
	return a.pseudonym(n)
}

func (a *Anonymiser) namespaceName(original string) string {
	return a.unlessKnown(kubernetesNamespaces.contain(original), realName{"namespace", "", original})
}

func (a *Anonymiser) nodeName(original string) string {
	return a.pseudonym(realName{"node", "", original})
}

func (a *Anonymiser) serviceName(namespace, original string) string {
	return a.unlessKnown(kubernetesServices.contain(namespace+"/"+original), realName{"service", namespace, original})
}

func (a *Anonymiser) containerName(namespace, original string) string {
	return a.pseudonym(realName{"container", namespace, original})
}

// ownerName replaces the name in an owner such as "ReplicaSet/web". It also replaces kinds that are not part of
// Kubernetes, because they may contain product names. The owner of a static pod is its Node.
func (a *Anonymiser) ownerName(namespace, original string) string {
	kind, owner, ok := strings.Cut(original, "/")
	switch {
	case original == "":
		return ""
	case !ok:
		return a.pseudonym(realName{"owner", namespace, original})
	case kind == "Node":
		return "Node/" + a.nodeName(owner)
	case ownerKinds.contain(kind):
		return kind + "/" + a.pseudonym(realName{strings.ToLower(kind), namespace, owner})
	}
	return "Other/" + a.pseudonym(realName{"owner", namespace, original})
}

func (a *Anonymiser) managerName(original string) string {
	known := fieldManagers.contain(original) || event.IsSliceManager(original)
	if !known && strings.HasPrefix(original, "kubectl-") {
		return "kubectl" // the rest may be the name of a plugin
	}
	return a.unlessKnown(known, realName{"manager", "", original})
}

func (a *Anonymiser) taintKey(original string) string {
	return a.unlessKnown(taintKeys.contain(original) || event.IsRemovalTaint(original), realName{"taint", "", original})
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
