package transition

import "github.com/kubeflap/kubeflap/exporter/event"

// Trigger returns a number that identifies an API write by the UID and the version of the object. The version is a
// resourceVersion or a time in the object. The number is the same in every kubeflap instance. It is 0 if the UID or the
// version is missing, as in anonymised recordings.
func Trigger(id event.UID, version string) uint64 {
	if id.IsZero() || version == "" {
		return 0
	}
	return event.Hash(string(id[:])+version) | 1
}
