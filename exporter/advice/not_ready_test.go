package advice

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// source matches an issue of a public repository, or a file of one.
var source = regexp.MustCompile(`^[\w.-]+/[\w.-]+(#\d+|(/[\w.-]+)+\.(go|md))$`)

// TestEachMessageOfAKubeletHasARemedy sorts the messages in testdata/not_ready.txt, also after anonymising them.
func TestEachMessageOfAKubeletHasARemedy(t *testing.T) {
	file, err := os.ReadFile("testdata/not_ready.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]event.NotReadyKind{
		"shutdown": event.NotReadyShutdown, "clock": event.NotReadyClock, "certificate": event.NotReadyCertificate, "disk or memory": event.NotReadyDiskOrMemory,
		"runtime": event.NotReadyRuntime, "PLEG": event.NotReadyPLEG, "network": event.NotReadyNetwork, "other": event.NotReadyOther,
	}
	messages := map[string]bool{}
	want, known := event.NotReadyOther, false
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if kind, ok := kinds[line]; ok {
			want, known = kind, true
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		from, line, _ := strings.Cut(line, " ")
		if messages[line] || !source.MatchString(from) {
			t.Errorf("a message is repeated, or has no source: %s", line)
		}
		messages[line] = true
		said := event.Words{Reason: "KubeletNotReady", Message: line}
		if got := said.Kind(); got != want || !known {
			t.Errorf("kind %d instead of %d: %s", got, want, line)
		}
		if got := (event.Words{Message: event.KnownWords(line)}).Kind(); got != want {
			t.Errorf("anonymised as %q, it has kind %d instead of %d: %s", event.KnownWords(line), got, want, line)
		}
		for _, of := range []LostNodes{
			{Verdict: verdict.Node, Cause: cause.NodeNotReady, Names: "node-1", Said: said},
			{Verdict: verdict.Node, Cause: cause.NodeHeartbeatLost, Names: "node-1", Said: said, Problems: []string{"DiskPressure", "KernelDeadlock"}},
		} {
			remedy := of.Remedy()
			if strings.Contains(strings.ToLower(remedy), "find out") || strings.Contains(remedy, "describe") || strings.Contains(remedy, "{") || !strings.Contains(remedy, "node-1") {
				t.Errorf("%s\nhas the remedy: %s", line, remedy)
			}
			for _, condition := range of.Problems {
				if !strings.Contains(remedy, condition) {
					t.Errorf("%s is not in the remedy: %s", condition, remedy)
				}
			}
		}
	}
	if len(messages) < 40 {
		t.Errorf("%d messages", len(messages))
	}
}
