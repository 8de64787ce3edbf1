package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/lab/steps"
)

func TestEarliestOffsetThatShows(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{
		{[]float64{1, 1, 1, 1, 1, 1}, 0},
		{[]float64{0.5, 0.98, 0.99, 1, 1, 1}, 0.005},
		// The second offset does not count, because the third one is below 99 %.
		{[]float64{0.5, 1, 0.98, 1, 1, 1}, 0.01},
		{[]float64{1, 1, 1, 1, 1, 0.98}, math.Inf(1)},
	} {
		if got := earliest(c.shares); got != c.want {
			t.Errorf("earliest(%v) = %v, want %v", c.shares, got, c.want)
		}
	}
	if got := seconds(math.Inf(1)); got != "over 50 ms" {
		t.Errorf("unexpected text for an event that is never shown: %q", got)
	}
}

func TestMediansAndQuantiles(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	if got := median(values); got != 2.5 {
		t.Errorf("got median %v", got)
	}
	if got := quantile(0.99, values); got != 4 {
		t.Errorf("got 99th percentile %v", got)
	}
	got := medians([]Figures{{SyncedCPU: 3, Series: 5}, {SyncedCPU: 1, Series: 5}, {SyncedCPU: 2, Series: 5}})
	if got[SyncedCPU] != 2 || got[Series] != 5 || len(got) != 2 {
		t.Errorf("got medians %v", got)
	}
}

func TestNamesOfPodsAreTheirOwn(t *testing.T) {
	size, seen := Sizes()[2], map[string]bool{}
	for pod := range size.Pods {
		name := size.namespace(size.serviceOf(pod)) + "/" + size.pod(pod)
		if seen[name] {
			t.Fatalf("two pods have the name %s", name)
		}
		seen[name] = true
	}
}

// The key of a filled cluster must not change between runs. Otherwise each run would fill the cluster again.
func TestKeyOfASizeStays(t *testing.T) {
	if key := Sizes()[0].key(); key != Sizes()[0].key() || key == Sizes()[1].key() {
		t.Errorf("key %s", key)
	}
}

func TestPageHasAllParts(t *testing.T) {
	const page = "../../docs/performance.md"
	parts := []string{partRecorder}
	for _, size := range Sizes() {
		parts = append(parts, size.Name)
	}
	for _, part := range parts {
		if err := steps.Run(func() { around(page, part) }); err != nil {
			t.Error(err)
		}
	}
}

func TestPageWithoutItsMarkers(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("<!-- bench small -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), Options{Sizes: Sizes()[:1], Page: page})
	if err == nil || !strings.Contains(err.Error(), page) || !strings.Contains(err.Error(), "<!-- end of bench small -->") {
		t.Errorf("got error %v", err)
	}
}

func TestMissedTargetsAreNamed(t *testing.T) {
	reached := Figures{SyncedCPU: 1, Shown: 0.02}
	r := Result{Size: Sizes()[0], Runs: map[string][]Figures{Kubeflap: {reached}, Floor: {{SyncedCPU: 2}}}}
	if got := r.targets(); got != "2 of 2 targets are reached." {
		t.Error(got)
	}
	r.Runs[Kubeflap][0] = Figures{SyncedCPU: 1.5, Shown: -1}
	if got, want := r.targets(), "0 of 2 targets are reached. Missed: CPU until synced, relative to floor, Transformer: 0.75 (limit 0.70); "+
		"Event to scrape, p99 (not measured, because the machine was too busy)."; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
