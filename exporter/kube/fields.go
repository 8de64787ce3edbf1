package kube

import (
	"bytes"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func slimMeta(object *metav1.ObjectMeta) event.Meta {
	return event.Meta{UID: event.ParseUID(string(object.UID)), Namespace: object.Namespace, Name: object.Name}
}

// utc makes times comparable: the API's decoders give them in the local zone.
func utc(t metav1.Time) time.Time { return t.Time.UTC() }

// The keys of managedFields (sigs.k8s.io/structured-merge-diff, fieldpath) that lead
// to the status of a pod's Ready condition.
var readyStatusPath = [...]string{`f:status`, `f:conditions`, `k:{\"type\":\"Ready\"}`, `f:status`}

// readyWriter is the manager that last wrote the status of the Ready condition. Who
// updates a field takes it from its owner, so there is one; if several own it
// together (server-side apply), it is the latest. Empty if unknown: old servers
// do not say which entries are of the status subresource.
func readyWriter(entries []metav1.ManagedFieldsEntry) string {
	return writer(entries, func(entry *metav1.ManagedFieldsEntry) bool {
		return entry.Subresource == "status" && owns(entry, readyStatusPath[:]...)
	})
}

// subsetsWriter is the manager that last wrote an Endpoints' subsets: they are one
// field, an atomic list.
func subsetsWriter(entries []metav1.ManagedFieldsEntry) string {
	return writer(entries, func(entry *metav1.ManagedFieldsEntry) bool { return owns(entry, "f:subsets") })
}

// endpointsWriter is the manager that last wrote a slice's endpoints: they are one
// field, an atomic list.
func endpointsWriter(entries []metav1.ManagedFieldsEntry) string {
	return writer(entries, func(entry *metav1.ManagedFieldsEntry) bool { return owns(entry, "f:endpoints") })
}

func writer(entries []metav1.ManagedFieldsEntry, wrote func(*metav1.ManagedFieldsEntry) bool) string {
	var last *metav1.ManagedFieldsEntry
	for i := range entries {
		entry := &entries[i]
		if wrote(entry) && (last == nil || !entry.Time.Before(last.Time)) {
			last = entry
		}
	}
	if last == nil {
		return ""
	}
	return last.Manager
}

// owns reports whether the entry has the path.
func owns(entry *metav1.ManagedFieldsEntry, path ...string) bool {
	raw := entry.FieldsV1.GetRawBytes()
	for _, key := range path {
		if raw = member(raw, key); raw == nil {
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

func statusOf(status corev1.ConditionStatus) event.Status { return event.ParseStatus(string(status)) }
