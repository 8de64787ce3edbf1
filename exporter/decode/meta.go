package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Fields of most objects.
const (
	objectMeta   = 1
	objectSpec   = 2
	objectStatus = 3
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

// meta reads an ObjectMeta.
func (r *fieldReader) meta(data []byte) (meta event.Meta) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case metaName:
			meta.Name = m.text()
		case metaNamespace:
			meta.Namespace = m.text()
		case metaUID:
			meta.UID = event.ParseUID(m.bytes)
		case metaResourceVersion:
			meta.ResourceVersion = string(m.bytes)
		}
	}
	return meta
}

// owner is an OwnerReference.
type owner struct {
	kind, name, uid, apiVersion []byte
	controller                  bool
}

func (r *fieldReader) owner(data []byte) owner {
	var o owner
	r.readFields(data, fieldTarget{1, &o.kind}, fieldTarget{3, &o.name}, fieldTarget{4, &o.uid}, fieldTarget{5, &o.apiVersion})
	m := r.message(data)
	for m.next() {
		if m.number == 6 {
			o.controller = m.bool()
		}
	}
	return o
}
