package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// CutOff records that the API server has not been able to read from etcd since `asked`. The watches stay open and can
// deliver bookmarks from memory, but no objects. They count as broken since the time of the last object. CutOff returns
// the resources whose watches worked before. It does nothing if a watch has delivered an object since `asked`.
func (w *Watches) CutOff(asked time.Time, reason event.Reason) (hidden []event.Kind) {
	if w.shown.After(asked) {
		return nil
	}
	for _, k := range event.Kinds() {
		s := &w.states[k]
		if !s.up {
			continue
		}
		since := w.shown
		if s.resumed.After(since) {
			since = s.resumed
		}
		w.fail(k, since, reason)
		s.cutOff = true
		hidden = append(hidden, k)
		w.cutOff = true
	}
	return hidden
}

// IsCutOff reports whether a resource's watch is open but delivers no objects, because the API server cannot read from
// etcd.
func (s *states) IsCutOff(k event.Kind) bool { return s[k].cutOff }

// AnyCutOff reports whether any watch is cut off.
func (w *Watches) AnyCutOff() bool { return w.cutOff }

// RecordRestored records that a watch delivers objects again. It returns an Up event for each watch that was cut off.
func (w *Watches) RecordRestored(t time.Time) (all []event.Event) {
	w.cutOff = false
	for _, k := range event.Kinds() {
		if s := &w.states[k]; s.cutOff {
			s.cutOff = false
			all = append(all, event.Event{Seen: t, Kind: k, Type: event.Up})
		}
	}
	return all
}
