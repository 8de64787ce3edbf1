package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// recordingProcess is a kubeflap with --data.dir that watches a cluster with churn.
type recordingProcess struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	// dir is the directory as the test sees it.
	dir string

	mu  sync.Mutex
	log []string
}

// startRecording starts kubeflap with a directory and more flags. wrap is the beginning of the command line, or empty.
func startRecording(t *testing.T, c *churning, dir string, flags []string, wrap ...string) *recordingProcess {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := &recordingProcess{t: t, dir: dir}
	args := append(slices.Clone(wrap), binary, "run", "--kubeconfig="+kubeconfigOf(t, c), "--data.dir="+dir, "--web.listen-address=127.0.0.1:0")
	args = append(args, flags...)
	p.cmd = exec.Command(args[0], args[1:]...)
	out, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.mu.Lock()
			p.log = append(p.log, lines.Text())
			p.mu.Unlock()
		}
	}()
	p.until("it listens", func() bool {
		lines := p.logged("address=127.0.0.1:")
		if len(lines) > 0 {
			p.address = address.FindStringSubmatch(lines[0])[1]
		}
		return len(lines) > 0
	})
	p.until("it watches the pods", func() bool { return p.metric(unreadyPods) != "" })
	return p
}

const unreadyPods = `kubeflap_pods_unready_total{namespace="shop"}`

func (p *recordingProcess) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// logged returns the log lines that contain a text.
func (p *recordingProcess) logged(text string) (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.log {
		if strings.Contains(line, text) {
			all = append(all, line)
		}
	}
	return all
}

// until waits until a condition holds.
func (p *recordingProcess) until(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("after 3 minutes it is not so that %s; recorder %+v, log:\n%s", what, p.incidents().Coverage.Recorder, strings.Join(p.logged("level=ERROR"), "\n"))
		}
	}
}

// metric returns the value of a metric of the process as text. Serving must never fail.
func (p *recordingProcess) metric(name string) string {
	p.t.Helper()
	_, value, _ := strings.Cut(p.get("/metrics"), "\n"+name+" ")
	value, _, _ = strings.Cut(value, "\n")
	return value
}

func (p *recordingProcess) get(path string) string {
	p.t.Helper()
	response, err := http.Get("http://" + p.address + path) //nolint:noctx // a local process
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: status %d, %v", path, response.StatusCode, err)
	}
	return string(text)
}

func (p *recordingProcess) incidents() (answer api.Answer) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.get(api.Path)), &answer); err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// records waits until the flight recorder works or, if works is not set, until it fails. Meanwhile, everything else
// must be served.
func (p *recordingProcess) records(works bool) {
	p.t.Helper()
	value := map[bool]string{true: "1", false: "0"}[works]
	p.until("kubeflap_recorder_recording is "+value, func() bool { return p.metric("kubeflap_recorder_recording") == value })
}

// counts waits until kubeflap has counted some more losses.
func (p *recordingProcess) counts() {
	p.t.Helper()
	counted := func() int {
		n, _ := strconv.Atoi(p.metric(unreadyPods)) // kubeflap always serves this counter
		return n
	}
	before := counted()
	p.until("losses are counted", func() bool { return counted() >= before+3 })
}

// reports checks that a failure is reported by the API and the page, and once in the log.
func (p *recordingProcess) reports(reason string) {
	p.t.Helper()
	recorder := p.incidents().Coverage.Recorder
	if recorder == nil || recorder.Recording || !strings.Contains(recorder.Reason, reason) || recorder.Since.IsZero() {
		p.t.Errorf("the API says %+v, want that it does not record because of %q", recorder, reason)
	}
	if page := p.get("/flaps"); !strings.Contains(page, "Not recorded") || !strings.Contains(page, reason) {
		p.t.Errorf("the page does not say that nothing is recorded because of %q", reason)
	}
	failures := func() int {
		return len(slices.DeleteFunc(p.logged("recording failed"), func(line string) bool { return !strings.Contains(line, reason) }))
	}
	p.until("the failure is logged", func() bool { return failures() > 0 })
	if failures() != 1 {
		p.t.Errorf("log: %q, want one line with %q", p.logged("recording failed"), reason)
	}
}

// readable returns the number of events that were recorded since a time, and the number of gaps between them. Both are
// 0 if nothing is on the disk yet.
func (p *recordingProcess) readable(from time.Time) (n, gaps int) {
	p.t.Helper()
	events, err := flightrecorder.Read(p.dir, from, time.Now())
	if errors.Is(err, flightrecorder.ErrNothing) {
		return 0, 0
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for ev, err := range events {
		if err != nil {
			p.t.Fatalf("after %d events: %v", n, err)
		}
		n++
		if ev.Kind == event.KindPod && ev.Type == event.Down && ev.Reason == event.ReasonNotRecorded {
			gaps++
		}
	}
	return n, gaps
}

// churningCluster returns a cluster with churn.
func churningCluster(t *testing.T) *churning {
	t.Helper()
	cluster := newChurning()
	go cluster.churn(t.Context())
	return cluster
}

// kubeconfigOf serves a cluster until the test ends, and returns the path of a kubeconfig.
func kubeconfigOf(t *testing.T, cluster http.Handler) string {
	t.Helper()
	server := httptest.NewServer(cluster)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return kubeconfigFor(t, server.URL)
}

// mounted starts kubeflap in a mount namespace in which its directory is a file system of a MiB, and returns a function
// that mounts it again with other options. The test is skipped where that is not permitted.
func mounted(t *testing.T, c *churning, options string) (p *recordingProcess, remount func(options string)) {
	t.Helper()
	apart := []string{"unshare", "--mount"}
	enter := []string{"nsenter", "--mount"}
	if os.Getuid() != 0 {
		apart, enter = append(apart, "--user", "--map-root-user"), append(enter, "--user", "--preserve-credentials")
	}
	dir := t.TempDir()
	mount := append(slices.Clone(apart), "sh", "-c", `mount -t tmpfs -o size=1m,`+options+` tmpfs "$0" && exec "$@"`, dir)
	if text, err := exec.Command(mount[0], append(mount[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("file systems cannot be mounted here: %v, %s", err, text)
	}
	p = startRecording(t, c, dir, nil, mount...)
	p.dir = fmt.Sprintf("/proc/%d/root%s", p.cmd.Process.Pid, dir)
	return p, func(options string) {
		// With the type and the source, mount does not repeat the earlier options, which a user namespace may refuse.
		args := append(slices.Clone(enter), "--target", fmt.Sprint(p.cmd.Process.Pid), "mount", "-t", "tmpfs", "-o", "remount,"+options, "tmpfs", dir)
		if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("mount again: %v, %s", err, text)
		}
	}
}

// fill fills a file system until a write fails because the file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Fatal(err)
	}
}

// TestADiskThatFails starts kubeflap on a read-only disk. Later, the disk is full for a while. Nothing that was saved before
// is lost, kubeflap serves as before, and it recovers.
func TestADiskThatFails(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	began := time.Now()
	p, remount := mounted(t, churningCluster(t), "ro")
	p.counts()
	p.retries()
	p.reports("read-only file system")
	remount("rw")
	p.records(true)
	p.counts()
	if testing.Short() {
		return
	}
	var before int
	p.until("the first events are readable", func() bool {
		before, _ = p.readable(began)
		return before > 0
	})
	filler := filepath.Join(p.dir, "filler")
	fill(t, filler)
	p.records(false)
	p.counts()
	p.retries()
	p.reports("no space left on device")
	if n, _ := p.readable(began); n < before {
		t.Errorf("%d events are readable, there were %d before the disk was full", n, before)
	}
	if p.metric("kubeflap_recorder_events_lost_total") == "0" {
		t.Error("no events lost")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.records(true)
	p.counts()
	p.until("later events and one gap are readable", func() bool {
		n, gaps := p.readable(began)
		return n > before && gaps == 1
	})
	if recorder := p.incidents().Coverage.Recorder; recorder == nil || !recorder.Recording || recorder.Gaps != 2 || len(p.logged("resumed recording")) != 2 {
		t.Errorf("the API says %+v, the log %q", recorder, p.logged("resumed recording"))
	}
}

// retries waits until the flight recorder and the journal have tried again, so that a failure would be logged twice. In the
// quick run, it does not wait.
func (p *recordingProcess) retries() {
	time.Sleep(time.Duration(few(35, 0)) * time.Second)
}

// Of two processes with one directory, one records. The other one serves, and takes over when the first one is killed.
func TestTwoProcessesWithOneDirectory(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	cluster, dir, began := churningCluster(t), filepath.Join(t.TempDir(), "data"), time.Now()
	first := startRecording(t, cluster, dir, nil)
	first.records(true)
	second := startRecording(t, cluster, dir, nil)
	second.counts()
	second.reports("another process is recording")
	first.records(true)
	first.counts()
	first.kill()
	second.records(true)
	second.until("the gap between the processes is readable", func() bool {
		_, gaps := second.readable(began)
		return gaps == 1
	})
}
