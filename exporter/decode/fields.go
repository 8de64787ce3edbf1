package decode

import (
	"bytes"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// managed is an entry of managedFields (metav1.ManagedFieldsEntry).
type managed struct {
	manager, subresource, fields []byte
	time                         time.Time
}

func (r *Reader) managed(data []byte) managed {
	var entry managed
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			entry.manager = m.bytes
		case 4:
			entry.time = m.seconds()
		case 7:
			entry.fields = r.field(m.bytes, 1)
		case 8:
			entry.subresource = m.bytes
		}
	}
	return entry
}

// The keys of managedFields (sigs.k8s.io/structured-merge-diff, fieldpath) that lead
// to the status of a pod's Ready condition.
var readyStatusPath = []string{`f:status`, `f:conditions`, `k:{\"type\":\"Ready\"}`, `f:status`}

// An Endpoints' subsets and a slice's endpoints are one field each, an atomic list.
var subsetsPath, endpointsPath = []string{"f:subsets"}, []string{"f:endpoints"}

// writer is the manager that last wrote a field. Who updates a field takes it
// from its owner, so there is one; if several own it
// together (server-side apply), it is the latest. Empty if unknown: old servers
// do not say which entries are of a subresource.
func (r *Reader) writer(meta []byte, subresource string, path []string) string {
	var last managed
	found := false
	m := r.message(meta)
	for m.next() {
		if m.number != metaManagedFields {
			continue
		}
		entry := r.managed(m.bytes)
		if (subresource == "" || string(entry.subresource) == subresource) && owns(entry.fields, path) &&
			(!found || !entry.time.Before(last.time)) {
			last, found = entry, true
		}
	}
	return r.text(last.manager)
}

// owns reports whether the fields have the path.
func owns(fields []byte, path []string) bool {
	for _, key := range path {
		if fields = member(fields, key); fields == nil {
			return false
		}
	}
	return true
}

// member is the value of a key of a JSON object, as it stands there; nil if there is
// none. The key is given as it is written, with its escapes. It reads what an API
// server has written, and of anything else makes some answer without a panic.
//
// This runs for every pod event, and decoding the JSON would be most of its cost.
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

// stringEnd is where the closing quote of a JSON string is that starts at i.
func stringEnd(text []byte, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

func statusOf(status []byte) event.Status { return event.ParseStatus(string(status)) }
