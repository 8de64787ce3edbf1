package advice

import (
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestEveryWaitHasARemedy checks the texts of all kinds of waits.
func TestEveryWaitHasARemedy(t *testing.T) {
	for _, kind := range transition.Waits() {
		w := Waiting{"shop", transition.Wait{Kind: kind, Pod: "web-1", Reason: "the reason"}}
		for _, text := range []string{w.What(), w.Remedy(true), w.Remedy(false)} {
			if len(text) < 20 || strings.ContainsAny(text, "{}") {
				t.Errorf("%s: %q", kind, text)
			}
		}
		if !strings.HasSuffix(w.What(), " (the reason)") {
			t.Errorf("%s: %q does not quote the reason", kind, w.What())
		}
	}
	if got, want := len(waitTexts), len(transition.Waits()); got != want {
		t.Errorf("%d kinds have texts, want %d", got, want)
	}
}
