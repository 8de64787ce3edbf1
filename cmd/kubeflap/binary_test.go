package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// builtIn is the directory of the executable. built compiles the executable once for all tests that need a separate
// process.
var builtIn string

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builtIn, "kubeflap")
	text, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		err = errors.New(string(text))
	}
	return path, err
})

func TestMain(m *testing.M) {
	var err error
	if builtIn, err = os.MkdirTemp("", "kubeflap-test-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(builtIn)
	os.Exit(status)
}

// process returns a kubeflap process that has not been started yet. It is interrupted when the test ends, or after three
// minutes, and is killed if that does not end it.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// firstLine starts a process and returns its first log line.
func firstLine(t *testing.T, args ...string) string {
	t.Helper()
	cmd := process(t, args...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(log).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Cancel(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the process was interrupted at startup
	return line
}

func TestLogBeginsWithContextAndServer(t *testing.T) {
	withoutRaceDetector(t)
	kubeconfig := kubeconfigOfTwo(t)
	for name, args := range map[string][]string{
		"run":    {"run", "--web.listen-address=127.0.0.1:0"},
		"record": {"record", filepath.Join(t.TempDir(), "recording.jsonl")},
		"advise": {"advise"},
		"watch":  {"watch"},
	} {
		for _, c := range []struct{ flags, want string }{
			{"", "context=near server=http://127.0.0.1:1 "},
			{"--context=far", "context=far server=http://127.0.0.1:2 "},
			{"--cluster d", "context=near server=http://127.0.0.1:2 "},
			{"--user v -n shop", "context=near server=http://127.0.0.1:1 "},
		} {
			line := firstLine(t, append(append(args, "--kubeconfig", kubeconfig), strings.Fields(c.flags)...)...)
			if !strings.Contains(line, `msg="starting kubeflap" `+c.want) {
				t.Errorf("%s %s: want %s, got: %s", name, c.flags, c.want, line)
			}
		}
	}
}

// kubeconfigOfTwo writes a kubeconfig with two clusters whose servers do not exist.
func kubeconfigOfTwo(t *testing.T) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "kubeconfig"), `
apiVersion: v1
kind: Config
current-context: near
contexts: [{name: near, context: {cluster: c, user: u}}, {name: far, context: {cluster: d, user: v}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}, {name: d, cluster: {server: "http://127.0.0.1:2"}}]
users: [{name: u, user: {}}, {name: v, user: {}}]
`)
}

// withoutRaceDetector skips a test for which the race detector would only take time: the test has one goroutine, or the
// process that it starts is built without the race detector.
func withoutRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector cannot find anything in it")
	}
}

// few returns the first number, or the second one in the quick run.
func few(all, quick int) int {
	if testing.Short() {
		return quick
	}
	return all
}
