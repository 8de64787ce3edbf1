package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Fields of every object: its metadata, and most have a spec and a status.
const (
	metadata = 1
	spec     = 2
	status   = 3
)

// Fields of ObjectMeta.
const (
	metaName            = 1
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaDeletion        = 9
	metaLabels          = 11
	metaAnnotations     = 12
	metaOwners          = 13
	metaManagedFields   = 17
)

// initialEventsEnd is the annotation of the bookmark that ends a streamed list
// (metav1, InitialEventsAnnotationKey).
const initialEventsEnd = "k8s.io/initial-events-end"

func (r *Reader) meta(data []byte, o *Object) event.Meta {
	var slim event.Meta
	m := r.message(data)
	for m.next() {
		switch m.number {
		case metaName:
			slim.Name = m.text()
		case metaNamespace:
			slim.Namespace = m.text()
		case metaUID:
			slim.UID = event.ParseUID(m.bytes)
		case metaResourceVersion:
			o.Version = string(m.bytes)
			slim.Version = o.Version
		case metaAnnotations:
			if key, value := r.pair(m.bytes); string(key) == initialEventsEnd {
				o.InitialEventsEnd = string(value) == "true"
			}
		}
	}
	return slim
}

// owner is an OwnerReference.
type owner struct {
	kind, name, uid, apiVersion []byte
	controller                  bool
}

func (r *Reader) owner(data []byte) owner {
	var o owner
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			o.kind = m.bytes
		case 3:
			o.name = m.bytes
		case 4:
			o.uid = m.bytes
		case 5:
			o.apiVersion = m.bytes
		case 6:
			o.controller = m.bool()
		}
	}
	return o
}
