package decode

import (
	"bytes"
	"time"
)

// readyStatusPath is the path to the status of a pod's Ready condition in managedFields (see fieldpath in
// sigs.k8s.io/structured-merge-diff).
var readyStatusPath = []string{`f:status`, `f:conditions`, `k:{\"type\":\"Ready\"}`, `f:status`}

// Fields of a metav1.ManagedFieldsEntry.
const (
	entryManager     = 1
	entryTime        = 4
	entryFields      = 7
	entrySubresource = 8
)

// space is what JSON allows between two tokens.
const space = " \n\r\t"

// Subsets and endpoints are atomic lists, so a managedFields entry contains only the list itself, without its elements.
var subsetsPath, endpointsPath = []string{"f:subsets"}, []string{"f:endpoints"}

// writers returns the field managers that last wrote a field: any manager, and any but the kube-controller-manager. They
// are empty if they are unknown. With server-side apply, a field can have several owners. The most recent owner then
// counts. The entries of old API servers have no subresource, so they match only if `subresource` is empty.
func (w *wire) writers(meta []byte, subresource string, path []string) (last, other []byte) {
	var lastTime, otherTime time.Time
	for value := range w.list(meta, metaManagedFields).each {
		f := w.fields(value)
		if subresource != "" && string(f[entrySubresource]) != subresource || !owns(w.field(f[entryFields], 1), path) {
			continue
		}
		manager, t := f[entryManager], w.time(f[entryTime], time.Second)
		if last == nil || !t.Before(lastTime) {
			last, lastTime = manager, t
		}
		isOther := len(manager) > 0 && string(manager) != controllerManagerName
		if isOther && (other == nil || !t.Before(otherTime)) {
			other, otherTime = manager, t
		}
	}
	return last, other
}

// lastApplied reports whether the object that kubectl apply last sent has a non-empty list with this name.
func (w *wire) lastApplied(metaData []byte, list string) bool {
	sent := bytes.TrimSpace(w.entry(w.list(metaData, metaAnnotations), lastAppliedAnnotation))
	elements, isList := bytes.CutPrefix(bytes.TrimLeft(member(sent, list), space), []byte("["))
	return isList && !bytes.HasPrefix(bytes.TrimLeft(elements, space), []byte("]"))
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
				if value, isKey := bytes.CutPrefix(bytes.TrimLeft(object[i+1:], space), []byte(":")); isKey {
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
