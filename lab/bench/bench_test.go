package bench

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBench runs the whole benchmark on a tiny cluster, without kube-state-metrics, which takes minutes to build. It
// checks that all figures exist, but not their values.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	kubeflap := filepath.Join(t.TempDir(), "kubeflap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", kubeflap, "./cmd/kubeflap")
	cmd.Dir = "../.."
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build kubeflap: %v\n%s", err, output)
	}
	tiny := Size{Name: "tiny", Nodes: 6, Pods: 60, Services: 6}
	o := Options{
		Kubeflap: kubeflap, Sizes: []Size{tiny}, Runs: 1, Programs: []string{Kubeflap, Floor},
		Recorder: 8 * time.Second, RecorderSize: tiny,
		Pace:  Pace{Rest: 500 * time.Millisecond, Load: 2 * time.Second, Settle: 50 * time.Millisecond, Events: 60, Scrapes: 2, Probes: 2},
		Cache: t.TempDir(), Page: filepath.Join(t.TempDir(), "performance.md"), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	var page strings.Builder
	for _, part := range []string{"tiny", "recorder"} {
		fmt.Fprintf(&page, "Before %[1]s.\n<!-- bench %[1]s -->\n<!-- end of bench %[1]s -->\nAfter %[1]s.\n", part)
	}
	if err := os.WriteFile(o.Page, []byte(page.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expectMeasured(t, m)
	expectPage(t, o.Page)
}

// expectMeasured checks that all of kubeflap's figures exist, and the floor's figures that need no scrapes.
func expectMeasured(t *testing.T, m Measured) {
	t.Helper()
	result := m.Results[0]
	for _, row := range rows() {
		if result.Runs[Kubeflap][0][row.Figure] == 0 && !mayBeNone(row.Figure) {
			t.Errorf("%q of kubeflap was not measured", row.Figure)
		}
	}
	for _, figure := range []Figure{SyncedWall, RestMemory, PeakMemory} {
		if result.Runs[Floor][0][figure] == 0 {
			t.Errorf("%q of the floor was not measured", figure)
		}
	}
	var recorded float64
	for _, phase := range m.Recorded.Phases {
		recorded += phase.Bytes
		if len(phase.Without) == 0 || len(phase.With) == 0 {
			t.Errorf("incomplete phase: %+v", phase)
		}
	}
	// The recorder writes every few seconds, so one short phase can end before its first write.
	if recorded == 0 {
		t.Errorf("nothing was recorded: %+v", m.Recorded.Phases)
	}
}

// mayBeNone reports whether a figure may be 0 in such a short run. CPU ticks are too coarse, and
// Shown is 0 if every scrape shows the event.
func mayBeNone(figure Figure) bool {
	return strings.Contains(string(figure), "CPU") || figure == Shown
}

// expectPage checks that all parts were written, and that the text around them is unchanged.
func expectPage(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Before tiny.\n", "\nAfter tiny.\n", "Before recorder.\n", "\nAfter recorder.\n",
		"| " + string(Shown) + " |", "| " + string(SyncedCPU) + " |", " targets are reached.",
		"| at rest | CPU per minute |", "Recordings per node and day",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not on the page:\n%s", want, page)
		}
	}
	t.Log(string(page))
}
