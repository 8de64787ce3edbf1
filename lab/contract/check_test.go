package contract

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

// On a healthy day, `kubeflap check` passes. It reads the recording of the day.
func TestCheckPassesOnHealthyDays(t *testing.T) {
	for _, x := range scenes(t, "days") {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), Root+"/bin/kubeflap", "check", "--recording="+x.recorded(t)).CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// recorded runs the story without a Prometheus, and returns a recording of what the first replica received.
func (x *scene) recorded(t *testing.T) string {
	t.Helper()
	c := x.begin(t)
	c.runUntil(x.end(c))
	file := filepath.Join(t.TempDir(), "day.jsonl.gz")
	w := try(recording.Create(file, recording.Header{Recorded: c.zero, Kubernetes: c.Version}))(t)
	for _, e := range c.replicas[0].recorded {
		must(t, w.Write(e))
	}
	must(t, w.Close())
	return file
}
