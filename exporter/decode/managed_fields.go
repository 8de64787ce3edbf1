package decode

import (
	"bytes"
	"time"
)

// readyStatusPath is the path to the status of a pod's Ready condition in managedFields (see fieldpath in
// sigs.k8s.io/structured-merge-diff).
var readyStatusPath = []string{`f:status`, `f:conditions`, `k:{\"type\":\"Ready\"}`, `f:status`}

// Subsets and endpoints are atomic lists, so a managedFields entry contains only the list itself, without its elements.
var subsetsPath, endpointsPath = []string{"f:subsets"}, []string{"f:endpoints"}

// writer returns the field manager that last wrote a field, or an empty string if the manager is unknown. With
// server-side apply, a field can have several owners. writer then returns the most recent owner. The entries of old API
// servers have no subresource, so they match only if `subresource` is empty.
func (r *fieldReader) writer(meta []byte, subresource string, path []string) string {
	last, _ := r.writers(meta, subresource, path)
	return r.text(last)
}

// writers returns the last writer of a field, and the last writer that is not the kube-controller-manager.
func (r *fieldReader) writers(meta []byte, subresource string, path []string) (last, other []byte) {
	var lastTime, otherTime time.Time
	found := false
	m := r.message(meta)
	for m.next() {
		if m.number != metaManagedFields {
			continue
		}
		// These are fields of a metav1.ManagedFieldsEntry.
		var manager, at, fields, sub []byte
		r.readFields(m.bytes, fieldTarget{1, &manager}, fieldTarget{4, &at}, fieldTarget{7, &fields}, fieldTarget{8, &sub})
		if subresource != "" && string(sub) != subresource || !owns(r.field(fields, 1), path) {
			continue
		}
		t := r.metaTime(at)
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

// owns reports whether a FieldsV1 contains the path.
func owns(fields []byte, path []string) bool {
	for _, key := range path {
		if fields = member(fields, key); fields == nil {
			return false
		}
	}
	return true
}

// member finds a key of a JSON object. It returns the rest of the input from the key's value on, or nil if the key is
// absent. The key must be escaped as in JSON. The result is correct only for JSON from an API server, but no input
// makes member panic.
//
// member runs for every pod event. A JSON decoder would take most of the CPU time of these events.
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

// stringEnd returns the index of the closing quote of a JSON string. `i` is the index after the opening quote.
func stringEnd(text []byte, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
