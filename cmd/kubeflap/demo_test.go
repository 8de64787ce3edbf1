package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"regexp"
	"strings"
	"testing"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

func TestTheDemoBlamesNoNodeForAStalledEtcd(t *testing.T) {
	_, stall, _ := strings.Cut(playDemo(t), "== 3-control-plane-stall")
	stall, _, found := strings.Cut(stall, "== 4-")
	if !found || strings.Contains(stall, "verdict node") {
		t.Errorf("the third recording blames a node:\n%s", stall)
	}
}

func TestTheDemoNamesAndLinksTheIncidentThatOthersArePartOf(t *testing.T) {
	want := "MERGED: node node-4 is part of the incident of the control plane: http://localhost:9969/flaps?cluster=3-control-plane-stall&id="
	if text := playDemo(t); !strings.Contains(text, want) {
		t.Errorf("no line has %q:\n%s", want, text)
	}
}

func TestTheDemoSaysWhatIsOpenAtTheEndOfARecording(t *testing.T) {
	text := playDemo(t)
	if n := strings.Count(text, "<<< OPEN AT THE END OF THE RECORDING: verdict endpoints_controller"); n != 2 || strings.Contains(text, "RUNNING") {
		t.Errorf("%d incidents are open at the end of recording 2, want 2:\n%s", n, text)
	}
}

func TestTheDemoRepeatsNoGracePeriod(t *testing.T) {
	last := ""
	for line := range strings.Lines(playDemo(t)) {
		_, text, _ := strings.Cut(line, "  ")
		if strings.HasPrefix(text, "the grace period") && text == last {
			t.Errorf("twice: %s", line)
		}
		last = text
	}
}

// playDemo replays the embedded recordings without waiting and returns the terminal output.
func playDemo(t *testing.T) string {
	t.Helper()
	recordings, err := openIncidents()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := newDemo(recordings, 0, trackerSettings(), "http://localhost:9969", "bin/kubeflap", &out)
	d.introduce(false)
	if err := d.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.conclude()
	return out.String()
}

func TestTheDemoSaysWhatWillHappenAndWhatHappened(t *testing.T) {
	text := playDemo(t)
	introduction, rest, _ := strings.Cut(text, "\n== ")
	for _, want := range []string{"http://localhost:9969/flaps", "http://localhost:9969/metrics", "use a short grace period", "Ctrl-C", "3-control-plane-stall"} {
		if !strings.Contains(introduction, want) {
			t.Errorf("the introduction does not say %q:\n%s", want, introduction)
		}
	}
	_, table, _ := strings.Cut(rest, "\nRECORDING ")
	command := regexp.MustCompile(`bin/kubeflap incidents --url http://localhost:9969 ([0-9a-f]{8}) `).FindStringSubmatch(table)
	if command == nil || !strings.Contains(table, "  "+command[1]+"  ") {
		t.Errorf("the conclusion has no command that shows one of the incidents:\n%s", table)
	}
	for _, row := range [][]string{
		{"1 ", "node-2", "2 addresses of shop/web", " node ", "kubelet"},
		{"2 ", "kube-system/kube-scheduler", "all manually managed addresses", "endpoints_controller", "remove the selector"},
		{"2 ", "shop/database", "4 addresses", "foreign_writer", "who writes"},
		{"3 ", "control plane", "4 nodes", "shared_path", "share"},
		{"4 ", "web", "4 addresses", "update_in_place", "readiness gate"},
		{"5 ", "kube-controller-manager", "3 nodes", "grace_period", "raise --node-monitor-grace-period"},
	} {
		if !hasRow(table, row) {
			t.Errorf("the table has no row with %q:\n%s", row, table)
		}
	}
}

// hasRow reports whether one line contains all words.
func hasRow(table string, words []string) bool {
	for line := range strings.Lines(table) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

func TestTheDemoPrintsTimesInOrder(t *testing.T) {
	clock := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d`)
	last, lines := "", 0
	scanner := bufio.NewScanner(strings.NewReader(playDemo(t)))
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "== ") {
			last = ""
		}
		at := clock.FindString(line)
		if at == "" {
			continue
		}
		lines++
		if at < last {
			t.Errorf("after %s: %s", last, line)
		}
		last = at
	}
	if lines < 50 {
		t.Errorf("there are only %d lines with a time", lines)
	}
}

func TestTheDemoTakesAnotherPortOnlyForTheDefault(t *testing.T) {
	var config net.ListenConfig
	if taken, err := config.Listen(t.Context(), "tcp", defaultAddress); err == nil {
		t.Cleanup(func() { _ = taken.Close() })
	} // otherwise another process is using the port
	listen := func(address string) (string, bool) {
		flags := &toolkit.FlagConfig{WebListenAddresses: &[]string{address}}
		moved, err := takeFreePort(context.Background(), flags)
		if err != nil {
			t.Fatal(err)
		}
		return (*flags.WebListenAddresses)[0], moved
	}
	if got, moved := listen(defaultAddress); !moved || got == defaultAddress || !strings.HasPrefix(got, ":") {
		t.Errorf("the default port is in use, and the demo listens on %s (moved %v)", got, moved)
	}
	if got, moved := listen("127.0.0.1:9969"); moved || got != "127.0.0.1:9969" {
		t.Errorf("a given address was replaced by %s", got)
	}
}

// TestAGracePeriodIsSaidToBeAssumed checks that a grace period that is derived from the version is described as
// assumed. In the recording of the upgrade, the controller manager appears after the nodes.
func TestAGracePeriodIsSaidToBeAssumed(t *testing.T) {
	const assumed, known = "  the grace period is assumed to be the default of 50s, ", "  the grace period is 50s, "
	_, upgrade, _ := strings.Cut(playDemo(t), "\n== 4-batch-upgrade")
	if before, _, found := strings.Cut(upgrade, known); !found || !strings.Contains(before, assumed) {
		t.Errorf("neither %q nor %q after it in\n%s", assumed, known, upgrade)
	}
}
