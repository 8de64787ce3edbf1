package transition

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Trigger identifies the write in the cluster that a loss began with: an object and its
// resourceVersion, or a time that the object shows. It is the same for every watcher, and 0 only if the UID or the version is missing, as
// in older recordings.
func Trigger(id event.UID, version string) uint64 {
	if id.IsZero() || version == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write(id[:])
	h.Write([]byte(version))
	return binary.BigEndian.Uint64(h.Sum(nil)) | 1
}
