package decode

import (
	"bytes"
	"time"
)

// readyStatusPath has the keys of managedFields (sigs.k8s.io/structured-merge-diff, fieldpath) that lead to the status of a
// pod's Ready condition.
var readyStatusPath = []string{`f:status`, `f:conditions`, `k:{\"type\":\"Ready\"}`, `f:status`}

// The subsets of Endpoints and the endpoints of a slice are one field each, an atomic list.
var subsetsPath, endpointsPath = []string{"f:subsets"}, []string{"f:endpoints"}

// writer returns the manager that last wrote a field, empty if that is unknown. Whoever updates a field takes it from its
// owner, so there is one writer. If several own it (server-side apply), the latest counts. Entries of old servers do not name
// the subresource.
func (r *fields) writer(meta []byte, subresource string, path []string) string {
	last, _ := r.writers(meta, subresource, path)
	return r.text(last)
}

// writers returns the manager that last wrote a field, and the last one that is not the kube-controller-manager.
func (r *fields) writers(meta []byte, subresource string, path []string) (last, other []byte) {
	var lastTime, otherTime time.Time
	found := false
	m := r.message(meta)
	for m.next() {
		if m.number != metaManagedFields {
			continue
		}
		// A metav1.ManagedFieldsEntry.
		var manager, at, fields, sub []byte
		r.take(m.bytes, into{1, &manager}, into{4, &at}, into{7, &fields}, into{8, &sub})
		if subresource != "" && string(sub) != subresource || !owns(r.field(fields, 1), path) {
			continue
		}
		t := r.seconds(at)
		if !found || !t.Before(lastTime) {
			last, lastTime, found = manager, t, true
		}
		isOther := len(manager) > 0 && string(manager) != controllerManagerName
		if isOther && (other == nil || !t.Before(otherTime)) {
			other, otherTime = manager, t
		}
	}
	return last, other
}

// owns reports whether the fields contain the path.
func owns(fields []byte, path []string) bool {
	for _, key := range path {
		if fields = member(fields, key); fields == nil {
			return false
		}
	}
	return true
}

// member returns the value of a key of a JSON object with all that follows, nil if there is none. The key is compared as it is
// written, with its escapes. It is correct for what an API server has written, and does not panic on other bytes.
//
// It runs for every event of a pod. Decoding the JSON would be most of the event's CPU time.
func member(object []byte, key string) []byte {
	depth, start := 0, 0
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			start = i + 1
			i = stringEnd(object, start)
			if depth == 1 && i < len(object) && string(object[start:i]) == key {
				if value, isKey := bytes.CutPrefix(bytes.TrimLeft(object[i+1:], " \n\r\t"), []byte(":")); isKey {
					return value
				}
			}
		}
		if depth == 0 {
			return nil
		}
	}
	return nil
}

// stringEnd returns the index of the closing quote of the JSON string that starts at i.
func stringEnd(text []byte, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
