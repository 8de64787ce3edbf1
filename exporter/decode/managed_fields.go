package decode

import (
	"bytes"
	"time"
)

// space is what JSON allows between two tokens.
const space = " \n\r\t"

// writers returns the field managers that last wrote a field, such as "f:subsets": any manager, and any but the
// kube-controller-manager. They are empty if they are unknown. The field must be an atomic list, of which managedFields
// do not contain the elements. With server-side apply, a field can have several owners. The most recent owner then counts.
func (w *wire) writers(meta []byte, field string) (last, other []byte) {
	var lastTime, otherTime time.Time
	for value := range w.list(meta, metaManagedFields) {
		f := w.fields(value) // metav1.ManagedFieldsEntry
		if member(w.field(f[7], 1), field) == nil {
			continue
		}
		manager, t := f[1], w.time(f[4])
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
func (w *wire) lastApplied(meta []byte, list string) bool {
	sent := bytes.TrimSpace(w.entry(meta, metaAnnotations, lastAppliedAnnotation))
	elements, isList := bytes.CutPrefix(bytes.TrimLeft(member(sent, list), space), []byte("["))
	return isList && !bytes.HasPrefix(bytes.TrimLeft(elements, space), []byte("]"))
}

// member finds a key of a JSON object. It returns the rest of the input from the key's value on, or nil if the key is
// absent. The key must be escaped as in JSON. The result is correct only for JSON from an API server, but no input
// makes member panic.
//
// member runs for every event of an EndpointSlice. A JSON decoder would take much of the CPU time of these events.
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
