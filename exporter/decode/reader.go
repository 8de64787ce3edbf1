package decode

import (
	"fmt"
	"hash/maphash"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reader reads objects, one after the other: it is for one goroutine. The zero value is ready.
type Reader struct {
	// recent are strings that were read before: names of nodes, namespaces and images, reasons
	// and the like come again and again, and the same pod comes at each of its changes.
	recent []string
	// err is what was wrong with the object that is being read.
	err error
	// conditions are a pod's, kept for their space.
	conditions []condition
	// places are where the addresses of Endpoints stand, kept for their space.
	places map[event.UID]int
}

const (
	// recents is how many strings are kept for another time, and longest how long they may be.
	recents = 2048
	longest = 128
)

var seed = maphash.MakeSeed()

func (r *Reader) message(data []byte) message { return message{reader: r, rest: data} }

// text makes a string, or gives the same one that it gave lately.
func (r *Reader) text(b []byte) string {
	if len(b) == 0 || len(b) > longest {
		return string(b)
	}
	if r.recent == nil {
		r.recent = make([]string, recents)
	}
	recent := &r.recent[maphash.Bytes(seed, b)%recents]
	if *recent != string(b) {
		*recent = string(b)
	}
	return *recent
}

// Object is what is read of an API object.
type Object struct {
	// Slim is the object.
	Slim event.Object
	// Version is its resourceVersion.
	Version string
	// InitialEventsEnd: a bookmark that ends a list that came as a stream (metav1, InitialEventsAnnotationKey).
	InitialEventsEnd bool
}

// Object reads an object of a kind. The bytes may be reused after it.
func (r *Reader) Object(kind event.Kind, data []byte) (Object, error) {
	r.err = nil
	var o Object
	meta := r.field(data, metadata)
	slim := r.meta(meta, &o)
	switch kind {
	case event.KindNode:
		o.Slim = r.node(data, slim)
	case event.KindLease:
		o.Slim = r.lease(data, slim)
	case event.KindPod:
		o.Slim = r.pod(data, meta, slim)
	case event.KindService:
		o.Slim = r.service(data, slim)
	case event.KindEndpointSlice:
		o.Slim = r.endpointSlice(data, meta, slim)
	case event.KindEndpoints:
		o.Slim = r.endpoints(data, meta, slim)
	default:
		return Object{}, fmt.Errorf("read %s: no such kind is watched", kind)
	}
	return o, r.failed("read " + kind.String())
}
