package recording

import (
	"bytes"
	"encoding/json"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// decodeWritten is a fast decoder for lines that Writer wrote, in which the kind precedes the object. It returns false
// for all other lines, including invalid ones. decodeAny then decodes the line or returns the error.
func decodeWritten(text []byte) (event.Event, bool) {
	const key = `"kind":"`
	head, _, found := bytes.Cut(text, []byte(`,"object":{`))
	at := bytes.Index(head, []byte(key))
	if !found || at < 0 {
		return event.Event{}, false
	}
	name, _, _ := bytes.Cut(head[at+len(key):], []byte{'"'})
	var kind event.Kind
	if kind.UnmarshalText(name) != nil {
		return event.Event{}, false
	}
	l := line[event.Object]{Object: event.New(kind)}
	if l.Object == nil || json.Unmarshal(text, &l) != nil || l.Kind != kind || l.Object == nil || !l.Type.HasObject() ||
		checkSeen(l.Seen) != nil || checkObject(l.Object) != nil {
		return event.Event{}, false
	}
	return event.Event{Seen: l.Seen.UTC(), Kind: kind, Type: l.Type, Reason: l.Reason, Object: l.Object}, true
}
