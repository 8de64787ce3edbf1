package decode

import (
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
	metaCreation        = 8
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

// labels returns labels as a non-nil map. It caches maps, because all pods of a ReplicaSet have the same labels, and each
// event of a pod repeats them.
func (r *Reader) labels(data []byte, number protowire.Number) map[string]string {
	var hash maphash.Hash
	hash.SetSeed(seed)
	bytes := 0
	for entry := range r.list(data, number) {
		_, _ = hash.Write(entry) // never fails
		bytes += len(entry)
	}
	if bytes > maxCachedLabelBytes {
		return r.entries(data, number)
	}
	if r.recentLabels == nil {
		r.recentLabels = make([]map[string]string, maxRecentLabels)
	}
	recent := &r.recentLabels[hash.Sum64()%maxRecentLabels]
	if *recent == nil || !r.hasEntries(data, number, *recent) {
		*recent = r.entries(data, number)
	}
	return *recent
}

// hasEntries reports whether a map has these entries, and no others.
func (r *Reader) hasEntries(data []byte, number protowire.Number, known map[string]string) bool {
	n := 0
	for entry := range r.list(data, number) {
		f := r.fields(entry)
		if value, ok := known[string(f[1])]; !ok || value != string(f[2]) {
			return false
		}
		n++
	}
	return n == len(known)
}
