package decode

import "bytes"

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
	var typeMeta, object []byte
	r.readFields(message, fieldTarget{1, &typeMeta}, fieldTarget{2, &object})
	return Document{Kind: r.text(r.field(typeMeta, 2)), Object: object}, r.wrapErr("read a document")
}

// WatchEvent reads the type and the document of a metav1.WatchEvent. The document shares memory with `data`.
func (r *Reader) WatchEvent(data []byte) (eventType string, document []byte, err error) {
	r.err = nil
	var name, raw []byte
	r.readFields(data, fieldTarget{1, &name}, fieldTarget{2, &raw})
	return r.text(name), r.field(raw, 1), r.wrapErr("read a watch event")
}
