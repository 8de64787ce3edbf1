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

// anonymiser replaces all data that identifies a cluster: names, addresses, UIDs, images, labels and free text. It
// keeps times, numbers and the words that Kubernetes itself writes (see anonymise_words.go). A name gets the same
// pseudonym in the whole recording, so a replay of the anonymised recording gives the same results as the original.
// Pseudonyms are numbered in order of first appearance, as in node-1. Only one goroutine may use an anonymiser.
type anonymiser struct {
	known map[realName]string
	count map[string]uint32
}

// realName is a name to replace. The noun says what it names, as in "node".
type realName struct{ noun, text string }

// newAnonymiser returns an anonymiser for one recording.
func newAnonymiser() *anonymiser { return &anonymiser{map[realName]string{}, map[string]uint32{}} }

// Header returns the anonymised recording's header. It drops the title, which is free text.
func (a *anonymiser) Header(header Header) Header {
	return Header{Recorded: header.Recorded, Kubernetes: release(header.Kubernetes), Anonymised: true}
}

// Event returns the event with an anonymised copy of its object. It does not modify the original object, because the
// tracker may be using that object.
func (a *anonymiser) Event(ev event.Event) event.Event {
	if ev.Reason != "" && !ev.Reason.Known() {
		ev.Reason = other
	}
	original := ev.Object
	if ev.Object = nil; original == nil {
		return ev
	}
	ev.Object = event.New(original.Kind())
	object, meta := reflect.ValueOf(ev.Object).Elem(), original.Metadata()
	object.Set(reflect.ValueOf(original).Elem())
	*ev.Object.Metadata() = event.Meta{
		UID: a.uid(meta.UID), Namespace: a.pseudonym("namespace", meta.Namespace), Name: a.objectName(original.Kind(), meta.Name),
	}
	a.walk(object, "")
	if pod, ok := original.(*event.Pod); ok {
		a.replicaSet(pod, ev.Object.(*event.Pod))
	}
	return ev
}

// walk anonymises a part of an object. The part is a copy, but shares its pointers, lists and maps with the original.
// walk therefore replaces them. A text of a field that nouns does not contain becomes empty.
func (a *anonymiser) walk(part reflect.Value, noun string) {
	switch part.Kind() {
	case reflect.Struct:
		a.walkFields(part)
	case reflect.String:
		part.SetString(a.text(noun, part.String()))
	case reflect.Array:
		part.Set(reflect.ValueOf(a.uid(part.Interface().(event.UID))))
	case reflect.Map:
		part.Set(reflect.ValueOf(a.labels(part.Interface().(map[string]string))))
	case reflect.Pointer:
		if !part.IsNil() {
			replaced := reflect.New(part.Type().Elem())
			replaced.Elem().Set(part.Elem())
			part.Set(replaced)
			a.walk(replaced.Elem(), noun)
		}
	case reflect.Slice:
		if !part.IsNil() {
			replaced := reflect.MakeSlice(part.Type(), part.Len(), part.Len())
			reflect.Copy(replaced, part)
			part.Set(replaced)
		}
		for i := range part.Len() {
			a.walk(part.Index(i), noun)
		}
	}
}

func (a *anonymiser) walkFields(part reflect.Value) {
	if address, ok := part.Addr().Interface().(*event.Address); ok {
		*address = a.address(*address)
		return
	}
	for i, of := 0, part.Type(); i < of.NumField(); i++ {
		switch field := of.Field(i); field.Type {
		case reflect.TypeFor[event.Meta](), reflect.TypeFor[time.Time]():
		default:
			a.walk(part.Field(i), nouns[of.Name()+"."+field.Name])
		}
	}
}

const (
	// other replaces a word that Kubernetes does not write, in fields where names have no meaning.
	other = "Other"
	// A field with one of the following nouns is not simply replaced: see anonymiser.text.
	aVersion, aMessage, anOwner, aManager, aMachine = "version", "message", "owner", "manager", "machine"
)

// nouns has the noun of each text field but those of event.Meta and event.Address.
var nouns = map[string]string{
	"Node.KubeletVersion":       aVersion,
	"Node.BootID":               "boot",
	"Node.ProviderID":           aMachine,
	"Taint.Key":                 "taint",
	"Taint.Value":               "value",
	"Taint.Effect":              other,
	"LifecycleCondition.Type":   other,
	"LifecycleCondition.Reason": other,
	"Problem.Type":              "condition",
	"Problem.Reason":            other,
	"Problem.Message":           aMessage,
	"Condition.Reason":          other,
	"Condition.Message":         aMessage,
	"ControlPlaneLease.Holder":  "holder",
	"ControlPlaneLease.Host":    "node", // an API server's host is often a node
	"Pod.Node":                  "node",
	"Pod.Phase":                 other,
	"Pod.Reason":                other,
	"Pod.Message":               aMessage,
	"Pod.DisruptionMessage":     aMessage,
	"Pod.Disruption":            other,
	"Pod.GatesNotReady":         "gate",
	"Pod.Owner":                 anOwner,
	"Container.Name":            "container",
	"Container.Image":           "image",
	"Container.ID":              "id",
	"Container.State":           other,
	"Container.Reason":          other,
	"Container.LastReason":      other,
	"Container.Message":         aMessage,
	"ControllerManager.Version": aVersion,
	"Service.Type":              other,
	"EndpointSlice.Service":     "service",
	"EndpointSlice.ManagedBy":   aManager,
	"EndpointSlice.Writer":      aManager,
	"Endpoints.Writer":          aManager,
	"Endpoints.OtherWriter":     aManager,
	"Cluster.Version":           aVersion,
	"Workload.UpdateRevision":   "value", // as the label controller-revision-hash
}

// text replaces the text of a field with a noun.
func (a *anonymiser) text(noun, text string) string {
	before, after, cut := strings.Cut(text, "/")
	switch {
	case noun == aVersion:
		return release(text)
	case noun == aMessage:
		return withoutNames(text)
	case noun == anOwner && cut && kubernetesWords[before]: // such as "ReplicaSet/web", or the Node of a static pod
		return before + "/" + a.pseudonym(strings.ToLower(before), after)
	case noun == anOwner && cut: // the kind may contain the name of a product
		return other + "/" + a.pseudonym(noun, text)
	case noun == aManager && strings.HasPrefix(text, "kubectl-") && !isKubernetes(text): // the rest may be the name of a plugin
		return "kubectl"
	case noun == aMachine:
		if cloud, _, ok := strings.Cut(text, "://"); ok && clouds[cloud] {
			return cloud + "://" + a.pseudonym(noun, text)
		}
	}
	return a.pseudonym(noun, text)
}

// objectNouns has the nouns of objects. A Lease has the name of its node, and Endpoints have the name of their Service.
var objectNouns = [event.NumKinds]string{
	event.KindNode: "node", event.KindLease: "node", event.KindPod: "pod", event.KindService: "service",
	event.KindEndpointSlice: "slice", event.KindEndpoints: "service", event.KindCluster: "cluster",
	event.KindControlPlaneLease: "lease", event.KindDeployment: "deployment", event.KindStatefulSet: "statefulset",
}

func (a *anonymiser) objectName(kind event.Kind, name string) string {
	if kind == event.KindControlPlaneLease && strings.HasPrefix(name, event.LeaseAPIServerPrefix) {
		return a.pseudonym(strings.TrimSuffix(event.LeaseAPIServerPrefix, "-"), name)
	}
	return a.pseudonym(objectNouns[kind], name)
}

// address replaces the IP and the UID of an address. If event.AddressUID derived the UID from the IP, the new UID is
// derived from the new IP.
func (a *anonymiser) address(address event.Address) event.Address {
	ip := a.ip(address.IP)
	if address.UID == event.AddressUID(address.IP) {
		address.UID = event.AddressUID(ip)
	} else {
		address.UID = a.uid(address.UID)
	}
	address.IP = ip
	return address
}

// labels replaces labels in the order of their keys, so that the result is deterministic. It keeps the keys of known
// labels. Equal labels get equal pseudonyms, so a selector matches the same pods as before. A nil map means that the
// labels are unknown.
func (a *anonymiser) labels(original map[string]string) map[string]string {
	if original == nil {
		return nil
	}
	replaced, known := make(map[string]string, len(original)), event.NodeLabels()
	for _, key := range slices.Sorted(maps.Keys(original)) {
		at := slices.IndexFunc(known, func(l event.NodeLabel) bool { return l.Key == key })
		if at >= 0 {
			replaced[key] = a.pseudonym(strings.ReplaceAll(known[at].Identifies, " ", "-"), original[key])
		} else {
			replaced[a.pseudonym("key", key)] = a.pseudonym("value", original[key])
		}
	}
	return replaced
}

// replicaSet names the owner of a Deployment's pod as Kubernetes does: the name of the Deployment, and the hash of the
// template.
func (a *anonymiser) replicaSet(original, replaced *event.Pod) {
	if w, ok := original.Workload(); ok && w.Kind == "Deployment" {
		hash := replaced.Labels["pod-template-hash"]
		replaced.Owner = "ReplicaSet/" + a.pseudonym("deployment", w.Name) + "-" + hash
	}
}

// pseudonym returns a noun and a number, as in "node-7" for the seventh node name. It returns Kubernetes' own words, and an
// empty text, as they are.
func (a *anonymiser) pseudonym(noun, text string) string {
	switch {
	case noun == "", text == "":
		return ""
	case isKubernetes(text):
		return text
	case noun == other:
		return other
	}
	return a.replace(noun, text, func(n uint32) string { return fmt.Sprintf("%s-%d", noun, n) })
}

// replace returns the replacement of a text. If the text is new, it calls a function with the number of texts with this
// noun so far.
func (a *anonymiser) replace(noun, text string, with func(number uint32) string) string {
	name := realName{noun, text}
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
func (a *anonymiser) ip(original string) string {
	switch ip, err := netip.ParseAddr(original); {
	case err != nil:
		return a.pseudonym("host", original)
	case ip.Is4():
		return a.replace("ipv4", original, func(n uint32) string {
			return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
		})
	}
	return a.replace("ipv6", original, func(n uint32) string {
		b := [16]byte{0: 0xfd}
		binary.BigEndian.PutUint32(b[12:], n)
		return netip.AddrFrom16(b).String()
	})
}

func (a *anonymiser) uid(original event.UID) event.UID {
	if original.IsZero() {
		return original
	}
	return event.UID([]byte(a.replace("uid", string(original[:]), func(n uint32) string {
		made := event.UID{6: 0x40, 8: 0x80} // the version and variant of a random UUID
		binary.BigEndian.PutUint32(made[12:], n)
		return string(made[:])
	})))
}
