package decode

import (
	"bytes"
	"fmt"
)

// protobufPrefix is the start of every protobuf document (see pkg/runtime/serializer/protobuf in k8s.io/apimachinery).
var protobufPrefix = []byte("k8s\x00")

// Document is an object or a list that the API server sent, together with its kind. It corresponds to runtime.Unknown.
type Document struct {
	// Kind is "Pod", "PodList", "Status" and so on.
	Kind string
	// Object is the object as an encoded protobuf message.
	Object []byte
}

// Document reads a protobuf document. Data of another content type gives an empty document. The object shares memory
// with `data`.
func (r *Reader) Document(data []byte) (Document, error) {
	message, found := bytes.CutPrefix(data, protobufPrefix)
	if !found {
		return Document{}, nil
	}
	r.err = nil
	f := r.fields(message)
	return Document{Kind: r.text(r.field(f[1], 2)), Object: f[2]}, r.failed("a document")
}

// WatchEvent reads the type and the document of a metav1.WatchEvent. The document shares memory with `data`.
func (r *Reader) WatchEvent(data []byte) (eventType string, document []byte, err error) {
	r.err = nil
	f := r.fields(data)
	return r.text(f[1]), r.field(f[2], 1), r.failed("a watch event")
}

// failed returns the error of the last message, or nil. `what` is what was read.
func (r *Reader) failed(what string) error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", what, r.err)
}
