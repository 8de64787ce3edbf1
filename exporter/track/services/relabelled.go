package services

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// relabelled is a pod whose labels were changed, so that the selector of its Service no longer matches them. The endpoints
// controllers then remove its addresses.
type relabelled struct {
	// version is the resourceVersion of the write that changed the labels, or 0 if it is unknown.
	version uint64
	// `why` names the first label that does not match.
	why string
}

// noteLabels compares the labels of a pod that the Service contains with the selector. Labels are nil if they are unknown,
// or if the pod was deleted. Labels that the previous selector matches have not been changed: then a change of the Service
// explains what follows. The version is the resourceVersion of the pod, or 0 if it is unknown.
func (s *service) noteLabels(id event.UID, labels map[string]string, version uint64) {
	why := s.selector.Mismatch(labels)
	if labels == nil || why == "" {
		delete(s.relabelled, id)
		return
	}
	if _, known := s.relabelled[id]; known || len(s.selectorBefore) > 0 && s.selectorBefore.Mismatch(labels) == "" {
		return
	}
	if s.relabelled == nil {
		s.relabelled = map[event.UID]relabelled{}
	}
	s.relabelled[id] = relabelled{version, pods.Quote(why)}
}

// hasLeft reports whether a pod was relabelled, so that the Service no longer selects it.
func (s *service) hasLeft(id event.UID) bool {
	_, ok := s.relabelled[id]
	return ok
}

// relabelling returns how a label of the pod differed from the selector when a controller removed its address. ok is false
// if the labels did not explain the removal.
func (l *loss) relabelling() (why string, ok bool) {
	r, ok := l.service.relabelled[l.change.ID]
	before := r.version == 0 || l.version == 0 || r.version < l.version
	return r.why, ok && before && l.change.Removed && !l.terminating && !l.manual && !l.foreign && !l.known
}
