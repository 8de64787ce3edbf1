// Package decode reads API objects directly from protobuf. It reads the fields that kubeflap needs and skips all
// others, such as env, volumes and most of the spec. The field numbers come from the API's generated.proto files.
package decode

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reader decodes API objects. The zero value is ready to use. A Reader is not safe for concurrent use.
type Reader struct {
	wire
	cache
	// `places` contains the index of each address of an Endpoints object. The memory is reused.
	places map[event.UID]int
}

// cache holds values that many objects share.
type cache struct {
	// `recent` is a cache of strings. The names of nodes, namespaces and images repeat, and so do reasons. Each event
	// of a pod also repeats all strings of the pod.
	recent []string
	// recentLabels caches label sets.
	recentLabels []map[string]string
	// `tolerations` is a cache of toleration periods. Most pods have the default of 300 s (see
	// plugin/pkg/admission/defaulttolerationseconds).
	tolerations [32]*event.Toleration
}

const (
	// maxRecent is the number of cached strings. Strings longer than maxLength bytes are not cached.
	maxRecent = 2048
	maxLength = 128
)

var seed = maphash.MakeSeed()

// text returns b as a string. It returns a cached string if possible.
func (c *cache) text(b []byte) string {
	if len(b) == 0 || len(b) > maxLength {
		return string(b)
	}
	if c.recent == nil {
		c.recent = make([]string, maxRecent)
	}
	recent := &c.recent[maphash.Bytes(seed, b)%maxRecent]
	if *recent != string(b) {
		*recent = string(b)
	}
	return *recent
}

// entries returns a map of strings.
func (r *Reader) entries(data []byte, number protowire.Number) map[string]string {
	all := make(map[string]string, r.count(data, number))
	for value := range r.list(data, number) {
		entry := r.fields(value)
		all[r.text(entry[1])] = r.text(entry[2])
	}
	return all
}

// encoded is an encoded API object. Endpoints and EndpointSlices have no spec and no status.
type encoded struct{ all, meta, spec, status []byte }

// Object decodes an object of the given kind. It keeps no reference to `data`. It returns an error if the kind is not
// watched, or if `data` is not a protobuf message.
func (r *Reader) Object(kind event.Kind, data []byte) (object event.Object, err error) {
	r.err = nil
	f := r.fields(data)
	x := encoded{data, f[1], f[2], f[3]}
	switch kind {
	case event.KindNode:
		object = r.node(x)
	case event.KindLease:
		object = r.lease(x)
	case event.KindControlPlaneLease:
		object = r.controlPlaneLease(x)
	case event.KindPod:
		object = r.pod(x)
	case event.KindService:
		object = r.service(x)
	case event.KindEndpointSlice:
		object = r.endpointSlice(x)
	case event.KindEndpoints:
		object = r.endpoints(x)
	case event.KindDeployment, event.KindStatefulSet:
		object = r.workload(kind, x)
	default:
		return nil, fmt.Errorf("read %s: this kind is not watched", kind)
	}
	return object, r.failed(kind.String())
}

// protobufPrefix is the start of every protobuf document (see pkg/runtime/serializer/protobuf in k8s.io/apimachinery).
var protobufPrefix = []byte("k8s\x00")

// Document reads a protobuf document (runtime.Unknown), which contains an object or a list as an encoded message. The kind
// is "Pod", "PodList", "Status" and so on. It is empty if the data has another content type. The object shares memory
// with `data`.
func (r *Reader) Document(data []byte) (kind string, object []byte, err error) {
	message, found := bytes.CutPrefix(data, protobufPrefix)
	if !found {
		return "", nil, nil
	}
	r.err = nil
	f := r.fields(message)
	return r.text(r.field(f[1], 2)), f[2], r.failed("a document")
}

// WatchEvent reads the type and the document of a metav1.WatchEvent. The document shares memory with `data`.
func (r *Reader) WatchEvent(data []byte) (eventType string, document []byte, err error) {
	r.err = nil
	f := r.fields(data)
	return r.text(f[1]), r.field(f[2], 1), r.failed("a watch event")
}
