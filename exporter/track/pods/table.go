package pods

import (
	"encoding/binary"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// table is a hash table of pods. A map from UIDs to pods would need twice the memory.
type table struct {
	slots []*Pod
	pods  int
}

func newTable() table { return table{slots: make([]*Pod, 16)} }

// slot returns the place of a pod, or the empty place where it belongs. The start of a UID is as good as a hash.
func (t *table) slot(id event.UID) int {
	i := int(binary.BigEndian.Uint64(id[:]) % uint64(len(t.slots)))
	for t.slots[i] != nil && t.slots[i].ID != id {
		i = (i + 1) % len(t.slots)
	}
	return i
}

// put adds a pod, or replaces the pod with the same UID. At most four of five slots are in use.
func (t *table) put(p *Pod) {
	if old := t.slots; t.pods*5 >= len(old)*4 {
		*t = table{slots: make([]*Pod, len(old)*3/2)}
		for _, p := range old {
			if p != nil {
				t.put(p)
			}
		}
	}
	i := t.slot(p.ID)
	if t.slots[i] == nil {
		t.pods++
	}
	t.slots[i] = p
}

// remove removes a pod. The pods in the slots after it may belong closer to its slot.
func (t *table) remove(id event.UID) {
	for i := t.slot(id); t.slots[i] != nil; i = (i + 1) % len(t.slots) {
		p := t.slots[i]
		t.slots[i] = nil
		if t.pods--; p.ID != id {
			t.put(p)
		}
	}
}

// each calls yield for each pod that has not been deleted.
func (t *table) each(yield func(*Pod) bool) {
	for _, p := range t.slots {
		if p != nil && p.was().deletedAt == 0 && !yield(p) {
			return
		}
	}
}

// keepDeletedFor is the time for which the state of a deleted pod is kept, because the pod watch can be ahead of the other
// watches.
const keepDeletedFor = 30 * time.Second

// Find returns an existing pod, or nil.
func (x *Pods) Find(id event.UID) *Pod {
	if p, deleted := x.Recall(id); !deleted {
		return p
	}
	return nil
}

// Recall returns a pod that exists or was deleted recently, or nil.
func (x *Pods) Recall(id event.UID) (p *Pod, deleted bool) {
	p = x.pods.slots[x.pods.slot(id)]
	return p, p != nil && p.was().deletedAt != 0
}

// rememberDeleted keeps a deleted pod. Its RemovalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(p *Pod, e event.Event) {
	if p.RemovalCause == cause.Unknown && !e.IsInferred() {
		p.RemovalCause = cause.PodDeleted
	}
	p.note().deletedAt = x.watches.Moment(e.Seen)
	x.deletions = append(x.deletions, p)
}

// Forget drops deleted pods after a while.
func (x *Pods) Forget() {
	for len(x.deletions) > 0 && x.watches.Now().Sub(x.watches.Time(x.deletions[0].past.deletedAt)) > keepDeletedFor {
		gone := watches.Take(&x.deletions)
		if p, _ := x.Recall(gone.ID); p == gone {
			x.pods.remove(gone.ID)
		}
	}
}
