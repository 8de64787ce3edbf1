package session

import "testing"

func TestDelaysAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"pods=1.5s": "pods=1.5s", "pods=2s,endpoints=1s": "endpoints=1s,pods=2s",
		"pods": "", "pods=": "", "=1s": "", "": "", "pods=1": "",
	} {
		delays, err := ParseDelays(text)
		if (err == nil) != (want != "") || err == nil && delays.String() != want {
			t.Errorf("%q: got %v (error %v), want %q", text, delays, err, want)
		}
	}
}
