package recording

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// rule replaces a text of an object in a namespace. The text is not empty.
type rule = func(a *Anonymiser, namespace, text string) string

// rules has the rule of each text field but those of event.Meta and event.Address.
var rules = map[string]rule{
	"Node.KubeletVersion":       version,
	"Node.BootID":               noun("boot"),
	"Node.ProviderID":           (*Anonymiser).providerID,
	"Taint.Key":                 (*Anonymiser).taintKey,
	"Taint.Value":               noun("value"),
	"Taint.Effect":              taintEffects.orOther,
	"LifecycleCondition.Type":   lifecycle,
	"LifecycleCondition.Reason": kubernetesReasons.orOther,
	"Condition.Reason":          kubernetesReasons.orOther,
	"Condition.Message":         (*Anonymiser).message,
	"ControlPlaneLease.Holder":  noun("holder"),
	"ControlPlaneLease.Host":    (*Anonymiser).nodeName, // an API server's host is often a node
	"Pod.Node":                  (*Anonymiser).nodeName,
	"Pod.Phase":                 podPhases.orOther,
	"Pod.Reason":                kubernetesReasons.orOther,
	"Pod.Disruption":            kubernetesReasons.orOther,
	"Pod.GatesNotReady":         noun("gate"),
	"Pod.Owner":                 (*Anonymiser).ownerName,
	"Container.Name":            (*Anonymiser).containerName,
	"Container.Image":           noun("image"),
	"Container.ID":              noun("id"),
	"Container.State":           containerStates.orOther,
	"ControllerManager.Version": version,
	"Service.Type":              serviceTypes.orOther,
	"EndpointSlice.Service":     (*Anonymiser).serviceName,
	"EndpointSlice.ManagedBy":   (*Anonymiser).managerName,
	"EndpointSlice.Writer":      (*Anonymiser).managerName,
	"Endpoints.Writer":          (*Anonymiser).managerName,
	"Endpoints.OtherWriter":     (*Anonymiser).managerName,
	"Cluster.Version":           version,
}

// noun returns a rule for names that are unique in the cluster.
func noun(noun string) rule {
	return func(a *Anonymiser, _, text string) string { return a.pseudonym(realName{noun, "", text}) }
}

func version(_ *Anonymiser, _, text string) string { return release(text) }

func lifecycle(_ *Anonymiser, _, text string) string {
	if event.LifecycleType(text).Known() {
		return text
	}
	return other
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
		replaced := strings.Fields(names)
		for j, name := range replaced {
			replaced[j] = a.containerName(namespace, name)
		}
		parts[i] = words + ": [" + strings.Join(replaced, " ") + "]"
	}
	return strings.Join(parts, ", ")
}
