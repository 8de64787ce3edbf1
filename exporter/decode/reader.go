package decode

import (
	"fmt"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reader decodes API objects. The zero value is ready to use. A Reader is not safe for concurrent use.
type Reader struct {
	fieldReader
	// conditions holds the conditions of the current pod. The memory is reused.
	conditions []podCondition
	// recentLabels caches label sets. rawLabels holds the encoded labels of the current object. The memory is reused.
	recentLabels []labelSet
	rawLabels    []byte
	// `tolerations` is a cache of toleration periods.
	tolerations map[event.Toleration]*event.Toleration
	// `places` contains the index of each address of an Endpoints object. The memory is reused.
	places map[event.UID]int
}

// fieldReader reads single fields of messages.
type fieldReader struct {
	// `recent` is a cache of strings. The names of nodes, namespaces and images repeat, and so do reasons. Each event
	// of a pod also repeats all strings of the pod.
	recent []string
	// err is an error in the current object, or nil.
	err error
}

const (
	// maxRecent is the number of cached strings. Strings longer than maxLength bytes are not cached.
	maxRecent = 2048
	maxLength = 128
)

var seed = maphash.MakeSeed()

func (r *fieldReader) message(data []byte) message { return message{reader: r, rest: data} }

// text returns b as a string. It returns a cached string if possible.
func (r *fieldReader) text(b []byte) string {
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

// Object decodes an object of the given kind. It keeps no reference to `data`. It returns an error if the kind is not
// watched, or if `data` is not a protobuf message.
func (r *Reader) Object(kind event.Kind, data []byte) (event.Object, error) {
	r.err = nil
	metaData := r.field(data, objectMeta)
	meta := r.meta(metaData)
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
		return nil, fmt.Errorf("read %s: this kind is not watched", kind)
	}
	return slim, r.wrapErr("read " + kind.String())
}

// wrapErr returns the error of the current object, or nil. It prefixes the error with `doing`.
func (r *fieldReader) wrapErr(doing string) error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, r.err)
}

// fieldTarget is a field number with a destination. fieldReader.readFields writes the field's value to the destination.
type fieldTarget struct {
	number protowire.Number
	value  *[]byte
}

// readFields reads several fields of a message. The destinations of absent fields stay unchanged. If a field is
// repeated, the last value wins.
func (r *fieldReader) readFields(data []byte, targets ...fieldTarget) {
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

// field returns the last value of a field, or nil if the field is absent.
func (r *fieldReader) field(data []byte, number protowire.Number) []byte {
	var value []byte
	m := r.message(data)
	for m.next() {
		if m.number == number {
			value = m.bytes
		}
	}
	return value
}

// count returns the number of times that a field occurs.
func (r *fieldReader) count(data []byte, number protowire.Number) int {
	n := 0
	m := r.message(data)
	for m.next() {
		if m.number == number {
			n++
		}
	}
	return n
}

// entry returns the value of a key in a field that is a map of strings, or nil if the key is absent.
func (r *fieldReader) entry(data []byte, number protowire.Number, key string) []byte {
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
func (r *fieldReader) pair(data []byte) (key, value []byte) {
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
