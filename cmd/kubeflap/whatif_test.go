package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

func TestWhatIfOnTheRecordedIncidents(t *testing.T) {
	for _, file := range recorded(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		t.Run(name, func(t *testing.T) {
			status, out, errOut := kubeflap(t, "whatif", "--recording", file)
			if status != 0 || errOut != "" {
				t.Errorf("status %d: %s", status, errOut)
			}
			for line := range strings.Lines(out) {
				if len(line) > 101 {
					t.Errorf("%d columns: %s", len(line)-1, line)
				}
			}
			golden(t, "testdata/whatif/"+name+".txt", out)
		})
	}
}

// TestWhatIfComparesAllCombinations checks that the table contains all combinations in ascending order.
func TestWhatIfComparesAllCombinations(t *testing.T) {
	status, out, errOut := kubeflap(t, "whatif", "--recording", recorded(t)[0], "--output=json", "--node-monitor-grace-period=60,24s", "--node-monitor-period=1s,5s",
		"--toleration=30s", "--batching-window=0s,10s", "--recorded-grace-period=24s")
	var given answer.Answer
	if err := json.Unmarshal([]byte(out), &given); err != nil || status != 0 {
		t.Fatalf("status %d, %v: %s", status, err, errOut)
	}
	var got [][4]float64
	for _, r := range given.Settings {
		got = append(got, [4]float64{r.GracePeriodSeconds, r.MonitorPeriodSeconds, *r.TolerationSeconds, r.WindowSeconds})
	}
	if len(got) != 8 || got[0] != [4]float64{24, 1, 30, 0} || got[3] != [4]float64{24, 5, 30, 10} || got[7] != [4]float64{60, 5, 30, 10} {
		t.Errorf("%v", got)
	}
	if x := given.Settings[0].Transitions; len(x) != 1 || x[0].Node != "node-2" || !x[0].Recorded || x[0].Predicted != answer.Yes {
		t.Errorf("%+v", x)
	}
}

func TestWhatIfRejects(t *testing.T) {
	file, nowhere := recorded(t)[0], filepath.Join(t.TempDir(), "nowhere")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		names  string
	}{
		{"no recording", nil, 2, "--recording"},
		{"no grace period", []string{"--recording", file, "--node-monitor-grace-period=0s"}, 2, "--node-monitor-grace-period"},
		{"no monitor period", []string{"--recording", file, "--node-monitor-period=0"}, 2, "--node-monitor-period"},
		{"no duration", []string{"--recording", file, "--node-monitor-grace-period=40s,"}, 2, "--node-monitor-grace-period"},
		{"a window that is not modeled", []string{"--recording", file, "--batching-window=3s"}, 2, "--batching-window: 3s"},
		{"too many combinations", []string{"--recording", file, "--node-monitor-period=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"}, 2, "105 combinations"},
		{"a recording that is not there", []string{"--recording", nowhere}, 1, nowhere},
		{"a recording that is none", []string{"--recording", "whatif_test.go"}, 1, "whatif_test.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errOut := kubeflap(t, append([]string{"whatif", "--log.level=error"}, c.args...)...)
			if status != c.status || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, c.names) {
				t.Errorf("status %d, want %d; printed %q, and: %s", status, c.status, out, errOut)
			}
		})
	}
	// For a damaged recording, the events before the damage are used.
	status, out, errOut := kubeflap(t, "whatif", "--log.level=error", "--recording", damaged(t, 40))
	if status != 1 || !strings.Contains(out, "GRACE") || !strings.Contains(errOut, "line 41") {
		t.Errorf("status %d, printed %q, and: %s", status, out, errOut)
	}
}
