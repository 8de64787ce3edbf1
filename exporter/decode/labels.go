package decode

import (
	"encoding/binary"
	"hash/maphash"
)

const (
	// maxRecentLabels is the number of cached label sets. Sets larger than maxCachedLabelBytes are not cached.
	maxRecentLabels     = 512
	maxCachedLabelBytes = 2048
)

// labelSet is a cached label set.
type labelSet struct {
	// `raw` holds the encoded entries, each preceded by its length.
	raw    string
	labels map[string]string
}

// labels returns an object's labels as a non-nil map. It caches maps, because all pods of a ReplicaSet have the same
// labels, and each event of a pod repeats them.
func (r *Reader) labels(metaData []byte) map[string]string {
	r.rawLabels = r.rawLabels[:0]
	m := r.message(metaData)
	for m.next() {
		if m.number == metaLabels {
			r.rawLabels = append(binary.AppendUvarint(r.rawLabels, uint64(len(m.bytes))), m.bytes...)
		}
	}
	if len(r.rawLabels) > maxCachedLabelBytes {
		r.rawLabels = nil // release the memory of large sets
		return r.readLabels(metaData)
	}
	if r.recentLabels == nil {
		r.recentLabels = make([]labelSet, maxRecentLabels)
	}
	recent := &r.recentLabels[maphash.Bytes(seed, r.rawLabels)%maxRecentLabels]
	if recent.labels == nil || recent.raw != string(r.rawLabels) {
		*recent = labelSet{raw: string(r.rawLabels), labels: r.readLabels(metaData)}
	}
	return recent.labels
}

func (r *Reader) readLabels(metaData []byte) map[string]string {
	labels := make(map[string]string, r.count(metaData, metaLabels))
	m := r.message(metaData)
	for m.next() {
		if m.number == metaLabels {
			key, value := r.pair(m.bytes)
			labels[r.text(key)] = r.text(value)
		}
	}
	return labels
}
