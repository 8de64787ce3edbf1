package decode

import (
	"fmt"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reader reads objects, for one goroutine. The zero value is ready.
type Reader struct {
	fields
	// conditions are those of a pod. The memory is reused.
	conditions []podCondition
	// recentLabels holds label sets that were read before, rawLabels the one that is being read. The memory is reused.
	recentLabels []labelSet
	rawLabels    []byte
	// tolerations holds those that were read before.
	tolerations map[event.Toleration]*event.Toleration
	// places are the indices of the addresses of an Endpoints object. The memory is reused.
	places map[event.UID]int
}

// fields reads fields of messages.
type fields struct {
	// recent holds strings that were read before. Names of nodes, namespaces and images, reasons and the like occur again and
	// again, and each change of a pod repeats its strings.
	recent []string
	// err is the error in the object that is being read.
	err error
}

const (
	// maxRecent is how many strings are kept, maxLength how long they may be in bytes.
	maxRecent = 2048
	maxLength = 128
)

var seed = maphash.MakeSeed()

func (r *fields) message(data []byte) message { return message{reader: r, rest: data} }

// text returns b as a string. It reuses a string that it returned before, if possible.
func (r *fields) text(b []byte) string {
	if len(b) == 0 || len(b) > maxLength {
		return string(b)
	}
	if r.recent == nil {
		r.recent = make([]string, maxRecent)
	}
	recent := &r.recent[maphash.Bytes(seed, b)%maxRecent]
	if *recent != string(b) {
		*recent = string(b)
	}
	return *recent
}

// Object is what is read of an API object.
type Object struct {
	Slim event.Object
	// InitialEventsEnd: the object is that of the bookmark which ends a streamed list (metav1, InitialEventsAnnotationKey).
	InitialEventsEnd bool
}

// Object reads an object of a kind. It keeps no reference to data.
func (r *Reader) Object(kind event.Kind, data []byte) (Object, error) {
	r.err = nil
	metaData := r.field(data, objectMeta)
	meta, endsList := r.meta(metaData)
	var slim event.Object
	switch kind {
	case event.KindNode:
		slim = r.node(data, metaData, meta)
	case event.KindLease:
		slim = r.lease(data, meta)
	case event.KindPod:
		slim = r.pod(data, metaData, meta)
	case event.KindService:
		slim = r.service(data, meta)
	case event.KindEndpointSlice:
		slim = r.endpointSlice(data, metaData, meta)
	case event.KindEndpoints:
		slim = r.endpoints(data, metaData, meta)
	case event.KindControlPlaneLease:
		slim = r.controlPlaneLease(data, metaData, meta)
	default:
		return Object{}, fmt.Errorf("read %s: this kind is not watched", kind)
	}
	return Object{Slim: slim, InitialEventsEnd: endsList}, r.failed("read " + kind.String())
}

// failed returns the error of what was read last.
func (r *fields) failed(doing string) error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, r.err)
}

// into says where Reader.take puts a field.
type into struct {
	number protowire.Number
	value  *[]byte
}

// take reads some fields of a message. A field that is absent becomes nil. If a field occurs several times, the last one counts.
func (r *fields) take(data []byte, targets ...into) {
	m := r.message(data)
	for m.next() {
		for i := range targets {
			if targets[i].number == m.number {
				*targets[i].value = m.bytes
				break
			}
		}
	}
}

// field returns the value of a field, nil if it is absent.
func (r *fields) field(data []byte, number protowire.Number) []byte {
	var value []byte
	m := r.message(data)
	for m.next() {
		if m.number == number {
			value = m.bytes
		}
	}
	return value
}

// count returns how often a field occurs.
func (r *fields) count(data []byte, number protowire.Number) int {
	n := 0
	m := r.message(data)
	for m.next() {
		if m.number == number {
			n++
		}
	}
	return n
}

// entry returns the value of a key in a field that is a map of strings.
func (r *fields) entry(data []byte, number protowire.Number, key string) []byte {
	m := r.message(data)
	for m.next() {
		if m.number == number {
			if k, value := r.pair(m.bytes); string(k) == key {
				return value
			}
		}
	}
	return nil
}

// pair reads one entry of a map of strings.
func (r *fields) pair(data []byte) (key, value []byte) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			key = m.bytes
		case 2:
			value = m.bytes
		}
	}
	return key, value
}
