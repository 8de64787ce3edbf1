package decode

import (
	"bytes"
	"fmt"
)

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

// failed returns the error of the last message, or nil. `what` is what was read.
func (w *wire) failed(what string) error {
	if w.err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", what, w.err)
}
