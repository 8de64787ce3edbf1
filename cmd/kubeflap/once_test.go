package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// sharedBuffer receives both standard output and standard error.
type sharedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sharedBuffer) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func TestReplayOncePrintsTheSameMetricsEachTimeAndAfterTheLog(t *testing.T) {
	first := ""
	for range 20 {
		var screen sharedBuffer
		if status := run(calledAs("kubeflap"), []string{"replay", "--once", "../../exporter/recording/incidents/2-control-plane-stall.jsonl.gz"}, &screen, &screen); status != 0 {
			t.Fatalf("exit status %d", status)
		}
		_, metrics, _ := strings.Cut(screen.text.String(), "\n# HELP")
		if strings.Contains(metrics, "level=") {
			t.Fatal("a line of the log between the metrics")
		}
		if first == "" {
			first = metrics
		}
		if metrics != first {
			t.Fatal("the metrics differ from one time to the next")
		}
	}
}
