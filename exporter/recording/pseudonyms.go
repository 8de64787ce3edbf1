package recording

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// pseudonyms holds the pseudonyms of the names, addresses and UIDs of a recording.
type pseudonyms struct {
	names map[realName]string
	count map[string]uint32
	uids  map[event.UID]event.UID
}

// realName is a name to replace. Equal names in different namespaces get different pseudonyms.
type realName struct{ noun, namespace, text string }

func newPseudonyms() pseudonyms {
	return pseudonyms{names: map[realName]string{}, count: map[string]uint32{}, uids: map[event.UID]event.UID{}}
}

// pseudonym returns a noun and a number, as in "node-7" for the seventh node name. It returns "" for an empty name.
func (p *pseudonyms) pseudonym(n realName) string {
	if n.text == "" {
		return ""
	}
	if known, ok := p.names[n]; ok {
		return known
	}
	made := fmt.Sprintf("%s-%d", n.noun, p.number(n.noun))
	p.names[n] = made
	return made
}

func (p *pseudonyms) number(noun string) uint32 {
	p.count[noun]++
	return p.count[noun]
}

// unlessKnown returns a word of Kubernetes unchanged, and a pseudonym for any other name.
func (p *pseudonyms) unlessKnown(known bool, n realName) string {
	if known {
		return n.text
	}
	return p.pseudonym(n)
}

func (p *pseudonyms) namespaceName(original string) string {
	return p.unlessKnown(kubernetesNamespaces.contain(original), realName{"namespace", "", original})
}

func (p *pseudonyms) nodeName(original string) string {
	return p.pseudonym(realName{"node", "", original})
}

func (p *pseudonyms) serviceName(namespace, original string) string {
	return p.unlessKnown(kubernetesServices.contain(namespace+"/"+original), realName{"service", namespace, original})
}

func (p *pseudonyms) containerName(namespace, original string) string {
	return p.pseudonym(realName{"container", namespace, original})
}

// ownerName replaces the name in an owner such as "ReplicaSet/web". It also replaces kinds that are not part of
// Kubernetes, because they may contain product names. The owner of a static pod is its Node.
func (p *pseudonyms) ownerName(namespace, original string) string {
	kind, owner, ok := strings.Cut(original, "/")
	switch {
	case original == "":
		return ""
	case !ok:
		return p.pseudonym(realName{"owner", namespace, original})
	case kind == "Node":
		return "Node/" + p.nodeName(owner)
	case ownerKinds.contain(kind):
		return kind + "/" + p.pseudonym(realName{strings.ToLower(kind), namespace, owner})
	}
	return "Other/" + p.pseudonym(realName{"owner", namespace, original})
}

func (p *pseudonyms) managerName(original string) string {
	known := fieldManagers.contain(original) || event.IsSliceManager(original)
	if !known && strings.HasPrefix(original, "kubectl-") {
		return "kubectl" // the rest may be the name of a plugin
	}
	return p.unlessKnown(known, realName{"manager", "", original})
}

func (p *pseudonyms) taintKey(original string) string {
	return p.unlessKnown(taintKeys.contain(original) || event.IsRemovalTaint(original), realName{"taint", "", original})
}

// providerID keeps the prefix of a known cloud, as in "aws://machine-1".
func (p *pseudonyms) providerID(original string) string {
	machine := p.pseudonym(realName{"machine", "", original})
	if cloud, _, ok := strings.Cut(original, "://"); ok && clouds.contain(cloud) {
		return cloud + "://" + machine
	}
	return machine
}

// controlPlaneLeaseName keeps the Lease names that all clusters use.
func (p *pseudonyms) controlPlaneLeaseName(original string) string {
	if strings.HasPrefix(original, event.LeaseAPIServerPrefix) {
		return p.pseudonym(realName{strings.TrimSuffix(event.LeaseAPIServerPrefix, "-"), "", original})
	}
	known := original == event.LeaseControllerManager || original == event.LeaseScheduler
	return p.unlessKnown(known, realName{"lease", "", original})
}

// ip replaces an IPv4 address with one from 10.0.0.0/8, and an IPv6 address with one from fd00::/8. The new address ends
// with a counter. ip treats any other string as a host name.
func (p *pseudonyms) ip(original string) string {
	ip, err := netip.ParseAddr(original)
	if err != nil {
		return p.pseudonym(realName{"host", "", original})
	}
	n := realName{"ip", "", original}
	if known, ok := p.names[n]; ok {
		return known
	}
	var made netip.Addr
	if ip.Is4() {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], p.number("ipv4"))
		b[0] = 10
		made = netip.AddrFrom4(b)
	} else {
		b := [16]byte{0: 0xfd}
		binary.BigEndian.PutUint32(b[12:], p.number("ipv6"))
		made = netip.AddrFrom16(b)
	}
	p.names[n] = made.String()
	return p.names[n]
}

func (p *pseudonyms) uid(original event.UID) event.UID {
	if original.IsZero() {
		return original
	}
	if known, ok := p.uids[original]; ok {
		return known
	}
	made := event.UID{6: 0x40, 8: 0x80} // the version and variant of a random UUID
	binary.BigEndian.PutUint32(made[12:], p.number("uid"))
	p.uids[original] = made
	return made
}
