package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// CutOff takes in that the API server answers, but cannot read from etcd since asked. Its watches are open and bring bookmarks, which come from its memory, but no
// objects. So they are blind since the last object, until one brings an object again. It returns the resources that were visible
// until then, none if a watch has brought an object since asked.
func (w *Watches) CutOff(asked time.Time, reason event.Reason) (hidden []event.Kind) {
	if w.shown.After(asked) {
		return nil
	}
	for _, k := range event.Kinds() {
		s := &w.state[k]
		if !s.up {
			continue
		}
		s.up, s.cutOff, s.reason, s.downSince = false, true, reason, w.shown
		if s.resumed.After(w.shown) {
			s.downSince = s.resumed
		}
		hidden = append(hidden, k)
		w.cutOff = true
	}
	return hidden
}

// IsCutOff reports whether a watch shows nothing although it is not broken.
func (w *Watches) IsCutOff(k event.Kind) bool { return w.state[k].cutOff }

// AnyCutOff reports whether that is so for any watch.
func (w *Watches) AnyCutOff() bool { return w.cutOff }

// Restored takes in that a watch shows objects again. It returns the events that say so of each watch that was cut off.
func (w *Watches) Restored(t time.Time) (all []event.Event) {
	w.cutOff = false
	for _, k := range event.Kinds() {
		if s := &w.state[k]; s.cutOff {
			s.cutOff = false
			all = append(all, event.Event{Seen: t, Kind: k, Type: event.Up})
		}
	}
	return all
}
