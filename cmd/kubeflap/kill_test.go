package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// killed is a kubeflap that is repeatedly killed and restarted with the same directory.
type killed struct {
	t          *testing.T
	kubeconfig string
	dir        string
	// reported holds the IDs of the incidents that all processes logged.
	mu       sync.Mutex
	reported map[string]bool
}

var (
	toldID  = regexp.MustCompile(`msg="?incident(?: continues after a restart of kubeflap)?: .* id=([0-9a-f]+)`)
	address = regexp.MustCompile(`address=(127\.0\.0\.1:[0-9]+)`)
)

// start starts a process and returns it with its address.
func (k *killed) start() (*exec.Cmd, string) {
	binary, err := built()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(binary, "run", "--kubeconfig="+k.kubeconfig, "--data.dir="+k.dir, "--data.size=64MiB", "--incidents.size=20000", "--web.listen-address=127.0.0.1:0")
	log, err := cmd.StderrPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if m := address.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
			if m := toldID.FindStringSubmatch(lines.Text()); m != nil {
				k.mu.Lock()
				k.reported[m[1]] = true
				k.mu.Unlock()
			}
		}
	}()
	select {
	case a := <-found:
		return cmd, a
	case <-time.After(2 * time.Minute):
		k.t.Fatal("kubeflap does not listen")
	}
	return nil, ""
}

// logged returns the number of incidents that all processes logged.
func (k *killed) logged() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.reported)
}

// incidents queries the API.
func (k *killed) incidents(address string) (answer api.Answer) {
	response, err := http.Get("http://" + address + api.Path) //nolint:noctx // the process is about to be killed
	if err != nil {
		k.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		k.t.Fatal(err)
	}
	return answer
}

// restart starts a process, and checks that it knows each incident that was logged before.
func (k *killed) restart(round int) *exec.Cmd {
	k.mu.Lock()
	before := slices.Collect(maps.Keys(k.reported))
	k.mu.Unlock()
	cmd, at := k.start()
	answer := k.incidents(at)
	k.check(round, before, &answer)
	return cmd
}

// expectReadable checks that each file of the flight recorder can be read, except for an incomplete last line. Files
// without any complete line may exist.
func (k *killed) expectReadable() {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.dir, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		k.t.Fatalf("%d recordings: %v", len(files), err)
	}
	short := 0
	for _, file := range files {
		r, err := recording.Open(file)
		if err == nil {
			for err == nil {
				_, err = r.Next()
			}
			_ = r.Close() // the file was only read
		}
		switch {
		case errors.Is(err, io.EOF):
		case errors.Is(err, recording.ErrCutShort), errors.Is(err, recording.ErrEmpty):
			short++
		default:
			k.t.Errorf("%s is not readable: %v", file, err)
		}
	}
	k.t.Logf("%d recordings, %d of them end in the middle of a line", len(files), short)
}

// check compares the incidents after a restart with those that were logged before.
func (k *killed) check(round int, reported []string, answer *api.Answer) {
	count := map[string]int{}
	for i := range answer.Incidents {
		for _, id := range append(slices.Clone(answer.Incidents[i].Also), answer.Incidents[i].ID) {
			count[id]++
		}
	}
	for _, id := range reported {
		if count[id] == 0 {
			k.t.Errorf("round %d: incident %s was reported and is gone", round, id)
		}
	}
	for id, n := range count {
		if n > 1 {
			k.t.Errorf("round %d: incident %s is there %d times", round, id, n)
		}
	}
}

// TestKill kills a process at random moments under churn: KUBEFLAP_KILLS times (make kill-test), or three times. After
// each restart, every incident that was logged before must exist exactly once, and all recordings must be readable.
func TestKill(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	rounds, _ := strconv.Atoi(cmp.Or(os.Getenv("KUBEFLAP_KILLS"), "3"))
	cluster := newChurning()
	go cluster.churn(t.Context())
	k := &killed{t: t, dir: t.TempDir(), reported: map[string]bool{}}
	k.kubeconfig = cluster.kubeconfig(t)
	began := time.Now()
	// With few kills, it can take more of them until there is an incident.
	for round := 0; round < rounds || round < 30 && k.logged() == 0; round++ {
		cmd := k.restart(round)
		lasts := rand.IntN(2500)
		if round == 0 {
			lasts = 2500 // events are written once per second
		}
		time.Sleep(time.Duration(lasts) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the process was killed
		if t.Failed() {
			t.Fatalf("after %d kills", round)
		}
	}
	last := k.restart(rounds)
	if err := last.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = last.Wait() // the process was killed
	k.expectReadable()
	events, err := flightrecorder.Read(k.t.Context(), k.dir, began, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range events {
		if err != nil {
			t.Fatalf("after %d events: %v", n, err)
		}
		n++
	}
	t.Logf("%d kills: %d incidents reported, %d events recorded", rounds, k.logged(), n)
	if k.logged() == 0 || n == 0 {
		t.Error("nothing happened")
	}
}
