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
	"Node.ProviderID":           providerID,
	"Taint.Key":                 nounUnless("taint", func(key string) bool { return taintKeys.contain(key) || event.IsRemovalTaint(key) }),
	"Taint.Value":               noun("value"),
	"Taint.Effect":              taintEffects.orOther,
	"LifecycleCondition.Type":   lifecycle,
	"LifecycleCondition.Reason": kubernetesReasons.orOther,
	"Problem.Type":              nounUnless("condition", nodeProblems.contain),
	"Problem.Reason":            kubernetesReasons.orOther,
	"Problem.Message":           message,
	"Condition.Reason":          kubernetesReasons.orOther,
	"Condition.Message":         message,
	"ControlPlaneLease.Holder":  noun("holder"),
	"ControlPlaneLease.Host":    nodes, // an API server's host is often a node
	"Pod.Node":                  nodes,
	"Pod.Phase":                 podPhases.orOther,
	"Pod.Reason":                kubernetesReasons.orOther,
	"Pod.Message":               evictionMessage,
	"Pod.DisruptionMessage":     evictionMessage,
	"Pod.Disruption":            kubernetesReasons.orOther,
	"Pod.GatesNotReady":         noun("gate"),
	"Pod.Owner":                 ownerName,
	"Container.Name":            containerName,
	"Container.Image":           noun("image"),
	"Container.ID":              noun("id"),
	"Container.State":           containerStates.orOther,
	"Container.Reason":          kubernetesReasons.orOther,
	"Container.LastReason":      kubernetesReasons.orOther,
	"Container.Message":         message,
	"ControllerManager.Version": version,
	"Service.Type":              serviceTypes.orOther,
	"EndpointSlice.Service":     serviceName,
	"EndpointSlice.ManagedBy":   manager,
	"EndpointSlice.Writer":      manager,
	"Endpoints.Writer":          manager,
	"Endpoints.OtherWriter":     manager,
	"Cluster.Version":           version,
	"Workload.UpdateRevision":   noun("value"), // as the label controller-revision-hash
}

var (
	nodes      = noun("node")
	namespaces = nounUnless("namespace", kubernetesNamespaces.contain)
)

// noun returns a rule for names that are unique in the cluster.
func noun(noun string) rule { return nounUnless(noun, func(string) bool { return false }) }

// nounUnless is like noun, but does not replace the words of Kubernetes.
func nounUnless(noun string, known func(text string) bool) rule {
	return func(a *Anonymiser, _, text string) string {
		if known(text) {
			return text
		}
		return a.pseudonym(noun, "", text)
	}
}

func version(_ *Anonymiser, _, text string) string { return release(text) }

func lifecycle(_ *Anonymiser, _, text string) string {
	if event.LifecycleType(text).Known() {
		return text
	}
	return other
}

func serviceName(a *Anonymiser, namespace, original string) string {
	if kubernetesServices.contain(namespace + "/" + original) {
		return original
	}
	return a.pseudonym("service", namespace, original)
}

func containerName(a *Anonymiser, namespace, original string) string {
	return a.pseudonym("container", namespace, original)
}

// ownerName replaces the name in an owner such as "ReplicaSet/web". It also replaces kinds that are not part of
// Kubernetes, because they may contain product names. The owner of a static pod is its Node.
func ownerName(a *Anonymiser, namespace, original string) string {
	kind, owner, ok := strings.Cut(original, "/")
	switch {
	case !ok:
		return a.pseudonym("owner", namespace, original)
	case kind == "Node":
		return "Node/" + nodes(a, "", owner)
	case ownerKinds.contain(kind):
		return kind + "/" + a.pseudonym(strings.ToLower(kind), namespace, owner)
	}
	return "Other/" + a.pseudonym("owner", namespace, original)
}

func manager(a *Anonymiser, _, original string) string {
	switch {
	case fieldManagers.contain(original), event.IsSliceManager(original):
		return original
	case strings.HasPrefix(original, "kubectl-"):
		return "kubectl" // the rest may be the name of a plugin
	}
	return a.pseudonym("manager", "", original)
}

// providerID keeps the prefix of a known cloud, as in "aws://machine-1".
func providerID(a *Anonymiser, _, original string) string {
	machine := a.pseudonym("machine", "", original)
	if cloud, _, ok := strings.Cut(original, "://"); ok && clouds.contain(cloud) {
		return cloud + "://" + machine
	}
	return machine
}

// evictionMessage keeps only Kubernetes' own words about an eviction, which contain no names.
func evictionMessage(_ *Anonymiser, _, original string) string {
	return strings.Join(evictionWords.FindAllString(original, -1), " ")
}

// message returns Kubernetes' own messages with pseudonyms for containers. Of all other messages, it keeps only the words
// by which event.Words.Kind recognises a kubelet's complaint.
func message(a *Anonymiser, namespace, original string) string {
	if nodeMessages.contain(original) {
		return original
	}
	parts := strings.Split(original, ", ")
	for i, part := range parts {
		// These phrases come from pkg/kubelet/status, GenerateContainersReadyCondition.
		words, list, ok := strings.Cut(part, ": [")
		names, closed := strings.CutSuffix(list, "]")
		if !ok || !closed || (words != "containers with unready status" && words != "containers with unknown status") {
			return event.KnownWords(original)
		}
		replaced := strings.Fields(names)
		for j, name := range replaced {
			replaced[j] = containerName(a, namespace, name)
		}
		parts[i] = words + ": [" + strings.Join(replaced, " ") + "]"
	}
	return strings.Join(parts, ", ")
}
