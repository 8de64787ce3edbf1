package decode

import (
	"bytes"
	"fmt"
)

// prefix is before every document that is protobuf (apimachinery, runtime/serializer/protobuf).
var prefix = []byte("k8s\x00")

// Document is what an API server answers: an object, or a list, with its kind (runtime.Unknown).
type Document struct {
	// Kind is "Pod", "PodList", "Status" and so on.
	Kind string
	// Object is the object's own message. A document of JSON has it only if its kind is one that is watched.
	Object []byte
}

// Document opens a document, which is protobuf or else JSON. Of protobuf it copies nothing.
func (r *Reader) Document(data []byte) (Document, error) {
	if !bytes.HasPrefix(data, prefix) {
		return fromJSON(data)
	}
	r.err = nil
	var d Document
	m := r.message(data[len(prefix):])
	for m.next() {
		switch m.number {
		case 1:
			d.Kind = r.text(r.field(m.bytes, 2))
		case 2:
			d.Object = m.bytes
		}
	}
	return d, r.failed("open a document")
}

// WatchEvent is an event of a watch: what happened, and the document (metav1.WatchEvent).
func (r *Reader) WatchEvent(data []byte) (what string, document []byte, err error) {
	r.err = nil
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			what = m.text()
		case 2:
			document = r.field(m.bytes, 1)
		}
	}
	return what, document, r.failed("read an event of a watch")
}

// List is one page of a list.
type List struct {
	// Version is the list's resourceVersion.
	Version string
	// Continue asks for the next page; empty at the end.
	Continue string
	// Items are the objects' messages.
	Items [][]byte
}

// List reads the message of a list. It copies nothing.
func (r *Reader) List(data []byte) (List, error) {
	r.err = nil
	var list List
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			list.Version = string(r.field(m.bytes, 2))
			list.Continue = string(r.field(m.bytes, 3))
		case 2:
			list.Items = append(list.Items, m.bytes)
		}
	}
	return list, r.failed("read a list")
}

func (r *Reader) failed(doing string) error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, r.err)
}
