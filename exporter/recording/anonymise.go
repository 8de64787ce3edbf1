package recording

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Anonymiser replaces all data that identifies a cluster: names, addresses, UIDs, images, labels and free text. It
// keeps times, numbers and the words that Kubernetes itself writes (see anonymise_words.go). A name gets the same
// pseudonym in the whole recording, so a replay of the anonymised recording gives the same results as the original.
// Pseudonyms are numbered in order of first appearance, as in node-1. Only one goroutine may use an Anonymiser.
type Anonymiser struct {
	known map[realName]string
	count map[string]uint32
}

// realName is a name to replace. Equal names in different namespaces get different pseudonyms.
type realName struct{ noun, namespace, text string }

// NewAnonymiser returns an Anonymiser for one recording.
func NewAnonymiser() *Anonymiser { return &Anonymiser{map[realName]string{}, map[string]uint32{}} }

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
	original := ev.Object
	if ev.Object = nil; original == nil {
		return ev
	}
	replaced := event.New(original.Kind())
	object, meta := reflect.ValueOf(replaced).Elem(), *original.Metadata()
	object.Set(reflect.ValueOf(original).Elem())
	*replaced.Metadata() = event.Meta{UID: a.uid(meta.UID), Namespace: namespaces(a, "", meta.Namespace), Name: a.objectName(original.Kind(), meta)}
	a.walk(object, meta.Namespace, nil)
	if pod, ok := original.(*event.Pod); ok {
		a.replicaSet(pod, replaced.(*event.Pod))
	}
	ev.Object = replaced
	return ev
}

// walk anonymises a part of an object. The part is a copy, but shares its pointers, lists and maps with the original.
// walk therefore replaces them. A text without a rule becomes empty.
func (a *Anonymiser) walk(part reflect.Value, namespace string, rule rule) {
	switch part.Kind() {
	case reflect.Struct:
		a.walkFields(part, namespace)
	case reflect.String:
		text := part.String()
		part.SetZero()
		if rule != nil && text != "" {
			part.SetString(rule(a, namespace, text))
		}
	case reflect.Array:
		part.Set(reflect.ValueOf(a.uid(part.Interface().(event.UID))))
	case reflect.Map:
		part.Set(reflect.ValueOf(a.labels(part.Interface().(map[string]string))))
	case reflect.Pointer:
		if !part.IsNil() {
			replaced := reflect.New(part.Type().Elem())
			replaced.Elem().Set(part.Elem())
			part.Set(replaced)
			a.walk(replaced.Elem(), namespace, nil)
		}
	case reflect.Slice:
		if !part.IsNil() {
			replaced := reflect.MakeSlice(part.Type(), part.Len(), part.Len())
			reflect.Copy(replaced, part)
			part.Set(replaced)
		}
		for i := range part.Len() {
			a.walk(part.Index(i), namespace, rule)
		}
	}
}

func (a *Anonymiser) walkFields(part reflect.Value, namespace string) {
	if address, ok := part.Addr().Interface().(*event.Address); ok {
		*address = a.address(*address)
		return
	}
	for i, of := 0, part.Type(); i < of.NumField(); i++ {
		switch field := of.Field(i); field.Type {
		case reflect.TypeFor[event.Meta](), reflect.TypeFor[time.Time]():
		default:
			a.walk(part.Field(i), namespace, rules[of.Name()+"."+field.Name])
		}
	}
}

// address replaces the IP, node and UID of an address. If event.AddressUID derived the UID from the IP, the new UID is
// derived from the new IP.
func (a *Anonymiser) address(address event.Address) event.Address {
	ip := a.ip(address.IP)
	if address.UID == event.AddressUID(address.IP) {
		address.UID = event.AddressUID(ip)
	} else {
		address.UID = a.uid(address.UID)
	}
	address.IP, address.Node = ip, nodes(a, "", address.Node)
	return address
}

// labels replaces labels in the order of their keys, so that the result is deterministic. It keeps the keys of known
// labels. Equal labels get equal pseudonyms, so a selector matches the same pods as before. A nil map means that the
// labels are unknown.
func (a *Anonymiser) labels(original map[string]string) map[string]string {
	if original == nil {
		return nil
	}
	replaced, known := make(map[string]string, len(original)), event.NodeLabels()
	for _, key := range slices.Sorted(maps.Keys(original)) {
		newKey, noun := key, "value"
		if at := slices.IndexFunc(known, func(l event.NodeLabel) bool { return l.Key == key }); at >= 0 {
			noun = strings.ReplaceAll(known[at].Identifies, " ", "-")
		} else if !podLabels.contain(key) {
			newKey = a.pseudonym("key", "", key)
		}
		replaced[newKey] = a.pseudonym(noun, "", original[key])
	}
	return replaced
}

// replicaSet names the owner of a Deployment's pod as Kubernetes does: the name of the Deployment, and the hash of the
// template.
func (a *Anonymiser) replicaSet(original, replaced *event.Pod) {
	if w, ok := original.Workload(); ok && w.Kind == "Deployment" {
		hash := replaced.Labels["pod-template-hash"]
		replaced.Owner = "ReplicaSet/" + a.pseudonym("deployment", w.Namespace, w.Name) + "-" + hash
	}
}

// objectName replaces the name of an object. A Lease has the name of its node, and Endpoints have the name of their
// Service. The Lease names that all clusters use stay.
func (a *Anonymiser) objectName(kind event.Kind, m event.Meta) string {
	switch kind {
	case event.KindNode, event.KindLease:
		return nodes(a, "", m.Name)
	case event.KindService, event.KindEndpoints:
		return serviceName(a, m.Namespace, m.Name)
	case event.KindPod:
		return a.pseudonym("pod", m.Namespace, m.Name)
	case event.KindEndpointSlice:
		return a.pseudonym("slice", m.Namespace, m.Name)
	case event.KindDeployment:
		return a.pseudonym("deployment", m.Namespace, m.Name)
	case event.KindStatefulSet:
		return a.pseudonym("statefulset", m.Namespace, m.Name) // as the owner of pods
	case event.KindControlPlaneLease:
		switch {
		case m.Name == event.LeaseControllerManager, m.Name == event.LeaseScheduler:
			return m.Name
		case strings.HasPrefix(m.Name, event.LeaseAPIServerPrefix):
			return a.pseudonym(strings.TrimSuffix(event.LeaseAPIServerPrefix, "-"), "", m.Name)
		}
		return a.pseudonym("lease", "", m.Name)
	}
	return a.pseudonym("cluster", "", m.Name)
}

// pseudonym returns a noun and a number, as in "node-7" for the seventh node name. It returns "" for an empty name.
func (a *Anonymiser) pseudonym(noun, namespace, text string) string {
	if text == "" {
		return ""
	}
	return a.replace(noun, namespace, text, func(n uint32) string { return fmt.Sprintf("%s-%d", noun, n) })
}

// replace returns the replacement of a text. If the text is new, it calls a function with the number of texts with this
// noun so far.
func (a *Anonymiser) replace(noun, namespace, text string, with func(number uint32) string) string {
	name := realName{noun, namespace, text}
	known, ok := a.known[name]
	if !ok {
		a.count[noun]++
		known = with(a.count[noun])
		a.known[name] = known
	}
	return known
}

// ip replaces an IPv4 address with one from 10.0.0.0/8, and an IPv6 address with one from fd00::/8. The new address ends
// with a counter. ip treats any other string as a host name.
func (a *Anonymiser) ip(original string) string {
	switch ip, err := netip.ParseAddr(original); {
	case err != nil:
		return a.pseudonym("host", "", original)
	case ip.Is4():
		return a.replace("ipv4", "", original, func(n uint32) string {
			return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
		})
	}
	return a.replace("ipv6", "", original, func(n uint32) string {
		b := [16]byte{0: 0xfd}
		binary.BigEndian.PutUint32(b[12:], n)
		return netip.AddrFrom16(b).String()
	})
}

func (a *Anonymiser) uid(original event.UID) event.UID {
	if original.IsZero() {
		return original
	}
	return event.UID([]byte(a.replace("uid", "", string(original[:]), func(n uint32) string {
		made := event.UID{6: 0x40, 8: 0x80} // the version and variant of a random UUID
		binary.BigEndian.PutUint32(made[12:], n)
		return string(made[:])
	})))
}
