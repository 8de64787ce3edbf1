package kube

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// FuzzSlim makes slim objects of anything that the API can hold.
func FuzzSlim(f *testing.F) {
	for seed := range int64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		for _, r := range resources("") {
			object := r.expected.DeepCopyObject()
			randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 4).Fill(object)
			checkSlim(t, r, object)
		}
	})
}

func checkSlim(t *testing.T, r resource, object runtime.Object) {
	slim := r.slim(object)
	if slim == nil || slim.Kind() != r.kind {
		t.Fatalf("%s became %#v", r.kind, slim)
	}
	text, err := json.Marshal(slim)
	if err != nil {
		t.Fatalf("write %s: %v", r.kind, err)
	}
	if err := json.Unmarshal(text, event.New(r.kind)); err != nil {
		t.Fatalf("read %s: %v", r.kind, err)
	}
}

// FuzzMember reads managed fields that no API server would write.
func FuzzMember(f *testing.F) {
	for _, seed := range []string{kubeletAlone, nodeLifecycle, replicaSetFields, `{"f:status`, `{"\`, `}`, `{"a":{"f:status":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := member(raw, "f:status") != nil
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return // any answer will do
		}
		keys := map[string]bool{}
		for key := range want {
			keys[key] = true
		}
		// A key may be spelt with escapes, which API servers do not do.
		if got != keys["f:status"] && !hasEscape(raw) {
			t.Errorf("found %v in %s", got, raw)
		}
	})
}

func hasEscape(raw []byte) bool {
	for _, c := range raw {
		if c == '\\' {
			return true
		}
	}
	return false
}
