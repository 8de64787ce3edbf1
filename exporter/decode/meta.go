package decode

import (
	"encoding/binary"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of ObjectMeta.
const (
	metaName            = 1
	metaNamespace       = 3
	metaUID             = 5
	metaResourceVersion = 6
	metaGeneration      = 7
	metaDeletion        = 9
	metaLabels          = 11
	metaAnnotations     = 12
	metaOwners          = 13
	metaManagedFields   = 17
)

// Fields of OwnerReference.
const (
	ownerKind       = 1
	ownerName       = 3
	ownerUID        = 4
	ownerAPIVersion = 5
	ownerController = 6
)

func (r *Reader) meta(data []byte) event.Meta {
	f := r.fields(data)
	return event.Meta{
		Name: r.text(f[metaName]), Namespace: r.text(f[metaNamespace]), UID: event.ParseUID(f[metaUID]),
		ResourceVersion: string(f[metaResourceVersion]),
	}
}

const (
	// maxRecentLabels is the number of cached label sets. Sets larger than maxCachedLabelBytes are not cached.
	maxRecentLabels     = 512
	maxCachedLabelBytes = 2048
)

// labelSet is a cached set of labels, or of the labels in a selector.
type labelSet struct {
	// `raw` holds the encoded entries, each preceded by its length.
	raw    string
	labels map[string]string
}

// labels returns labels as a non-nil map. It caches maps, because all pods of a ReplicaSet have the same labels, and each
// event of a pod repeats them.
func (r *Reader) labels(data []byte, number protowire.Number) map[string]string {
	r.rawLabels = r.rawLabels[:0]
	for entry := range r.list(data, number) {
		r.rawLabels = append(binary.AppendUvarint(r.rawLabels, uint64(len(entry))), entry...)
	}
	if len(r.rawLabels) > maxCachedLabelBytes {
		r.rawLabels = nil // release the memory of large sets
		return r.entries(data, number)
	}
	if r.recentLabels == nil {
		r.recentLabels = make([]labelSet, maxRecentLabels)
	}
	recent := &r.recentLabels[maphash.Bytes(seed, r.rawLabels)%maxRecentLabels]
	if recent.labels == nil || recent.raw != string(r.rawLabels) {
		*recent = labelSet{raw: string(r.rawLabels), labels: r.entries(data, number)}
	}
	return recent.labels
}
