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
		Kubeflap: kubeflap, Sizes: []Size{tiny}, Runs: 1, Programs: []string{Kubeflap, FloorTyped, FloorTransformer},
		Grow: tiny, Steps: 1, Churn: 4 * time.Second, ChurnSize: tiny, Recorder: 8 * time.Second, RecorderSize: tiny,
		Pace:  Pace{Rest: 500 * time.Millisecond, Load: 2 * time.Second, Settle: 50 * time.Millisecond, Events: 60, Scrapes: 2, Probes: 2},
		Cache: t.TempDir(), Page: filepath.Join(t.TempDir(), "performance.md"), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	var page strings.Builder
	for _, part := range []string{"tiny", "growth", "churn", "recorder"} {
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

// TestOthersAreMeasuredWithoutOneThatFails checks that the floor is measured even if the kubeflap binary does not
// exist.
func TestOthersAreMeasuredWithoutOneThatFails(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	tiny := Size{Name: "tiny", Nodes: 6, Pods: 60, Services: 6}
	o := Options{
		Kubeflap: filepath.Join(t.TempDir(), "nothing"), Sizes: []Size{tiny}, Runs: 2, Programs: []string{Kubeflap, FloorTransformer},
		Pace:  Pace{Rest: 500 * time.Millisecond, Load: 2 * time.Second, Settle: 50 * time.Millisecond, Events: 60, Scrapes: 2, Probes: 2},
		Cache: t.TempDir(), Page: filepath.Join(t.TempDir(), "performance.md"), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if err := os.WriteFile(o.Page, []byte("<!-- bench tiny -->\n<!-- end of bench tiny -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), o.Kubeflap) {
		t.Errorf("error %v does not name %s", err, o.Kubeflap)
	}
	if len(m.Results) != 1 || len(m.Results[0].Runs[FloorTransformer]) != 2 {
		t.Fatalf("the floor was not measured twice: %v", m.Results)
	}
	page, err := os.ReadFile(o.Page)
	if err != nil || !strings.Contains(string(page), "| "+string(SyncedWall)+" |  | ") {
		t.Errorf("the page does not contain the floor's figures: %v\n%s", err, page)
	}
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
	for _, floor := range []string{FloorTyped, FloorTransformer} {
		for _, figure := range []Figure{SyncedWall, SyncedPeak, RestMemory, PeakMemory, EventRate} {
			if result.Runs[floor][0][figure] == 0 {
				t.Errorf("%q of %s was not measured", figure, floor)
			}
		}
	}
	for _, line := range m.Grown.ByKind {
		if len(line.Points) != 2 || line.Points[1].Figures[Series] <= line.Points[0].Figures[Series] && line.Kind != "pods" {
			t.Errorf("%s did not grow: %v", line.Kind, line.Points)
		}
	}
	if len(m.Churned.Samples) == 0 || m.Churned.Services == 0 {
		t.Errorf("%d Services were created and deleted, with %d samples", m.Churned.Services, len(m.Churned.Samples))
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
	for _, sample := range m.Churned.Samples {
		if sample.Memory*sample.Heap*sample.Series*sample.Goroutines == 0 {
			t.Errorf("incomplete sample: %+v", sample)
		}
	}
}

// mayBeNone reports whether a figure may be 0 in such a short run. CPU ticks are too coarse, few Leases are renewed,
// and Shown is 0 if every scrape shows the event.
func mayBeNone(figure Figure) bool {
	return strings.Contains(string(figure), "CPU") || figure == Shown || figure == RestRate
}

// expectPage checks that all parts were written, and that the text around them is unchanged.
func expectPage(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Before tiny.\n", "\nAfter tiny.\n", "Before growth.\n", "\nAfter churn.\n",
		"| " + string(Shown) + " |", "| " + string(SyncedCPU) + ", relative to " + FloorTransformer + " |",
		"](performance-growth.svg)", "| Services | 6 nodes and 60 pods |", "](performance-churn.svg)", "| Goroutines |", "| at rest | CPU per minute |", "Recordings per node and day", " of recordings | Time until synced, median |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not on the page:\n%s", want, page)
		}
	}
	for _, name := range []string{"performance-growth.svg", "performance-churn.svg"} {
		picture, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err != nil || !strings.Contains(string(picture), "</svg>") {
			t.Errorf("%s is not a picture: %v", name, err)
		}
	}
	t.Log(string(page))
}
