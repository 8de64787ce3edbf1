package recording

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// realName is a name to replace. Equal names in different namespaces get different pseudonyms.
type realName struct{ noun, namespace, text string }

// pseudonym returns a noun and a number, as in "node-7" for the seventh node name. It returns "" for an empty name.
func (a *Anonymiser) pseudonym(n realName) string {
	if n.text == "" {
		return ""
	}
	if known, ok := a.names[n]; ok {
		return known
	}
	made := fmt.Sprintf("%s-%d", n.noun, a.number(n.noun))
	a.names[n] = made
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

func (a *Anonymiser) nodeName(_, original string) string {
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
	case !ok:
		return a.pseudonym(realName{"owner", namespace, original})
	case kind == "Node":
		return "Node/" + a.nodeName("", owner)
	case ownerKinds.contain(kind):
		return kind + "/" + a.pseudonym(realName{strings.ToLower(kind), namespace, owner})
	}
	return "Other/" + a.pseudonym(realName{"owner", namespace, original})
}

func (a *Anonymiser) managerName(_, original string) string {
	known := fieldManagers.contain(original) || event.IsSliceManager(original)
	if !known && strings.HasPrefix(original, "kubectl-") {
		return "kubectl" // the rest may be the name of a plugin
	}
	return a.unlessKnown(known, realName{"manager", "", original})
}

func (a *Anonymiser) taintKey(_, original string) string {
	return a.unlessKnown(taintKeys.contain(original) || event.IsRemovalTaint(original), realName{"taint", "", original})
}

// providerID keeps the prefix of a known cloud, as in "aws://machine-1".
func (a *Anonymiser) providerID(_, original string) string {
	machine := a.pseudonym(realName{"machine", "", original})
	if cloud, _, ok := strings.Cut(original, "://"); ok && clouds.contain(cloud) {
		return cloud + "://" + machine
	}
	return machine
}

// objectName replaces the name of an object. A Lease has the name of its node, and Endpoints have the name of their
// Service. The Lease names that all clusters use stay.
func (a *Anonymiser) objectName(kind event.Kind, m event.Meta) string {
	noun, namespace := "", m.Namespace
	switch kind {
	case event.KindNode, event.KindLease:
		return a.nodeName("", m.Name)
	case event.KindService, event.KindEndpoints:
		return a.serviceName(m.Namespace, m.Name)
	case event.KindPod:
		noun = "pod"
	case event.KindEndpointSlice:
		noun = "slice"
	case event.KindCluster:
		noun = "cluster"
	case event.KindControlPlaneLease:
		if m.Name == event.LeaseControllerManager || m.Name == event.LeaseScheduler {
			return m.Name
		}
		noun, namespace = "lease", ""
		if strings.HasPrefix(m.Name, event.LeaseAPIServerPrefix) {
			noun = strings.TrimSuffix(event.LeaseAPIServerPrefix, "-")
		}
	}
	return a.pseudonym(realName{noun, namespace, m.Name})
}

// ip replaces an IPv4 address with one from 10.0.0.0/8, and an IPv6 address with one from fd00::/8. The new address ends
// with a counter. ip treats any other string as a host name.
func (a *Anonymiser) ip(original string) string {
	ip, err := netip.ParseAddr(original)
	if err != nil {
		return a.pseudonym(realName{"host", "", original})
	}
	n := realName{"ip", "", original}
	if known, ok := a.names[n]; ok {
		return known
	}
	var made netip.Addr
	if ip.Is4() {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], a.number("ipv4"))
		b[0] = 10
		made = netip.AddrFrom4(b)
	} else {
		b := [16]byte{0: 0xfd}
		binary.BigEndian.PutUint32(b[12:], a.number("ipv6"))
		made = netip.AddrFrom16(b)
	}
	a.names[n] = made.String()
	return a.names[n]
}

func (a *Anonymiser) uid(original event.UID) event.UID {
	if original.IsZero() {
		return original
	}
	if known, ok := a.uids[original]; ok {
		return known
	}
	made := event.UID{6: 0x40, 8: 0x80} // the version and variant of a random UUID
	binary.BigEndian.PutUint32(made[12:], a.number("uid"))
	a.uids[original] = made
	return made
}
