package journal

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestIncidentsOfAnotherClusterAreSetAside checks that they are neither shown nor lost.
func TestIncidentsOfAnotherClusterAreSetAside(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := SetAside(dir, now); err != nil {
		t.Errorf("without a file: %v", err)
	}
	const line = `{"ID":"0123456789abcdef"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	earlier := func() []incident.Incident {
		all, _ := Open(dir, 10, now, slog.New(slog.DiscardHandler)).Incidents()
		return all
	}
	if n := len(earlier()); n != 1 {
		t.Fatalf("%d incidents before", n)
	}
	if err := SetAside(dir, now); err != nil {
		t.Fatal(err)
	}
	if n := len(earlier()); n != 0 {
		t.Errorf("%d incidents afterwards", n)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "incidents.jsonl.20260301T120000Z")); err != nil || string(text) != line {
		t.Errorf("kept %q, %v", text, err)
	}
}
