package flightrecorder

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// ended returns a resolved incident of a node.
func ended(n int) incident.Incident {
	return incident.Incident{
		ID: fmt.Sprintf("%016d", n), Start: at(float64(n)), End: phrase.Time{Time: at(float64(n) + 0.5)}, State: incident.StateResolved, Cause: cause.NodeHeartbeatLost, Scope: incident.ScopeNode,
		Subject: "node-1", Nodes: []string{"node-1"}, Counts: incident.Counts{Lost: 2},
		Services: []incident.Service{{Namespace: "shop", Name: "web", Lost: 2, Outages: 1, OutageTime: phrase.Seconds(time.Minute)}},
		Verdict:  verdict.Node, Considered: []verdict.Considered{{Verdict: verdict.Node, Holds: verdict.Yes, Because: "the others were in time"}},
		Evidence: []incident.Evidence{{Time: at(1), Until: at(1), Count: 1, Text: "no heartbeat of node-1"}}, Summary: "Node node-1 sent no heartbeat.",
	}
}

func open(t *testing.T, dir string, size int) (*Journal, string) {
	t.Helper()
	var log bytes.Buffer
	return OpenJournal(dir, size, at(100), slog.New(slog.NewTextHandler(&log, nil))), log.String()
}

func incidents(j *Journal) (ids []string) {
	all, _ := j.Incidents()
	for _, x := range all {
		ids = append(ids, strings.TrimLeft(x.ID, "0"))
	}
	return ids
}

func save(t *testing.T, dir string, all ...incident.Incident) {
	t.Helper()
	j, _ := open(t, dir, 500)
	for _, x := range all {
		j.Add(x)
	}
	if err := j.write(); err != nil {
		t.Fatal(err)
	}
}

func TestIncidentsAreReadAgainAsTheyWere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	revised := ended(1)
	revised.Verdict = verdict.SharedPath
	save(t, dir, ended(1), ended(2), ended(2), revised)
	j, log := open(t, dir, 500)
	all, displaced := j.Incidents()
	if want := []incident.Incident{ended(2), revised}; !reflect.DeepEqual(all, want) || displaced.Dropped != 0 || !j.LostUntil().IsZero() || log != "" {
		t.Errorf("got %+v, displaced %v, lost until %v, log %q; want %+v", all, displaced, j.LostUntil(), log, want)
	}
	if info, err := os.Stat(filepath.Join(dir, incidentsFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600: %v", info.Mode(), err)
	}
	if x, ok := j.Incident(revised.ID); !ok || x.Verdict != verdict.SharedPath {
		t.Errorf("by its ID: %v %+v", ok, x)
	}
}

func TestNewerIncidentsDisplaceOlderOnes(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, ended(1), ended(2), ended(3))
	j, _ := open(t, dir, 2)
	if _, displaced := j.Incidents(); !reflect.DeepEqual(incidents(j), []string{"2", "3"}) || displaced.Dropped != 1 || !displaced.DroppedUntil.Equal(at(1.5)) {
		t.Errorf("kept %v, displaced %+v", incidents(j), displaced)
	}
	into := ended(4)
	into.Also = []string{ended(3).ID}
	j.Add(into)
	if got := incidents(j); !reflect.DeepEqual(got, []string{"2", "4"}) {
		t.Errorf("kept %v after a merger", got)
	}
	if x, ok := j.Incident(ended(3).ID); !ok || x.ID != into.ID {
		t.Errorf("the ID of the merged incident opens %v %s", ok, x.ID)
	}
}

// TestDamageIsNotTakenForNoIncidents damages a file with three incidents. A line that was cut short is no damage: the
// process was killed.
func TestDamageIsNotTakenForNoIncidents(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(lines [][]byte) []byte
		kept   []string
		lost   time.Time
	}{
		"intact":          {func(l [][]byte) []byte { return bytes.Join(l, nil) }, []string{"1", "2", "3"}, time.Time{}},
		"empty":           {func([][]byte) []byte { return nil }, nil, time.Time{}},
		"cut short":       {func(l [][]byte) []byte { return append(bytes.Join(l[:2], nil), l[2][:9]...) }, []string{"1", "2"}, time.Time{}},
		"garbage first":   {func(l [][]byte) []byte { return append([]byte("?\n"), bytes.Join(l[1:], nil)...) }, []string{"2", "3"}, at(2.5)},
		"garbage at last": {func(l [][]byte) []byte { return append(bytes.Join(l[:2], nil), "{}\n"...) }, []string{"1", "2"}, at(100)},
		"zeros":           {func(l [][]byte) []byte { return append(make([]byte, 5<<20), '\n') }, nil, at(100)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, dir, ended(1), ended(2), ended(3))
			path := filepath.Join(dir, incidentsFile)
			whole, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, test.damage(bytes.SplitAfter(whole, []byte("\n"))[:3]), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second process must still know it
				j, log := open(t, dir, 500)
				if !reflect.DeepEqual(incidents(j), test.kept) || !j.LostUntil().Equal(test.lost) || strings.Contains(log, "cannot be read") == test.lost.IsZero() {
					t.Errorf("kept %v, lost until %v, log %q", incidents(j), j.LostUntil(), log)
				}
			}
			save(t, dir, ended(9))
			if j, _ := open(t, dir, 500); !reflect.DeepEqual(incidents(j), append(test.kept, "9")) {
				t.Errorf("after another one: %v", incidents(j))
			}
		})
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, incidentsFile), 0o700); err != nil {
		t.Fatal(err)
	}
	j, log := open(t, dir, 500)
	j.Add(ended(1))
	if err := j.write(); err == nil || !j.LostUntil().Equal(at(100)) || !strings.Contains(log, "cannot read the incidents") {
		t.Errorf("error %v, lost until %v, log %q", err, j.LostUntil(), log)
	}
	for range 2 { // it is written again as a whole
		if err := os.Remove(filepath.Join(dir, incidentsFile)); err != nil {
			t.Fatal(err)
		}
		if err := j.write(); err != nil {
			t.Fatal(err)
		}
		if again, _ := open(t, dir, 500); !reflect.DeepEqual(incidents(again), []string{"1"}) {
			t.Errorf("kept %v", incidents(again))
		}
	}
}

func TestALargeFileIsTrimmed(t *testing.T) {
	dir := t.TempDir()
	large := ended(1)
	large.Summary = strings.Repeat("x", rewriteAbove/4)
	var all []incident.Incident
	for n := range 6 {
		large.ID = ended(n + 1).ID
		all = append(all, large)
	}
	save(t, dir, all...)
	info, err := os.Stat(filepath.Join(dir, incidentsFile))
	if err != nil || info.Size() > rewriteAbove/2 {
		t.Errorf("%d bytes, want at most %d: %v", info.Size(), rewriteAbove/2, err)
	}
	if j, _ := open(t, dir, 500); !reflect.DeepEqual(incidents(j), []string{"6"}) {
		t.Errorf("kept %v", incidents(j))
	}
}

// TestIncidentsOfAnotherClusterAreSetAside checks that they are neither shown nor lost.
func TestIncidentsOfAnotherClusterAreSetAside(t *testing.T) {
	dir := t.TempDir()
	if err := SetIncidentsAside(dir, noon); err != nil {
		t.Errorf("without a file: %v", err)
	}
	save(t, dir, ended(1))
	err := SetIncidentsAside(dir, noon)
	if j, _ := open(t, dir, 10); err != nil || len(incidents(j)) != 0 {
		t.Errorf("kept %v, %v", incidents(j), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "incidents.jsonl.20260301T120000Z"))
	if !bytes.Contains(text, []byte(ended(1).ID)) {
		t.Errorf("kept %q, %v", text, err)
	}
}

// TestAddNeverWaits adds incidents while the disk hangs: the file is a pipe that nobody reads.
func TestAddNeverWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), incidentsFile)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	j := &Journal{path: path, size: 2, logger: slog.New(slog.DiscardHandler), added: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- j.Run(ctx) }()
	for n := range 1000 {
		j.Add(ended(n))
	}
	if got := incidents(j); !reflect.DeepEqual(got, []string{"998", "999"}) {
		t.Errorf("kept %v", got)
	}
	cancel()
	reader, err := os.Open(path) // lets Run go on
	if err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	_ = reader.Close()
}

// TestAJournalThatHangsDoesNotDelayTheEnd stops a journal that hangs: it tells of a failure, and nobody reads that.
func TestAJournalThatHangsDoesNotDelayTheEnd(t *testing.T) {
	dir := t.TempDir() // not in the bubble: the journal still writes when the inner test has ended
	synctest.Test(t, func(t *testing.T) {
		blocked := filepath.Join(dir, "data")
		if err := os.WriteFile(blocked, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		unread, log := io.Pipe()
		j := OpenJournal(blocked, 5, noon, slog.New(slog.DiscardHandler))
		j.logger = slog.New(slog.NewTextHandler(log, nil))
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- j.Run(ctx) }()
		j.Add(ended(1))
		synctest.Wait()
		began := time.Now()
		cancel()
		if err := <-over; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("it ended after %v, %v", time.Since(began), err)
		}
		_ = unread.Close()
		synctest.Wait() // it ends before the directory is removed
	})
}

// TestTheLastIncidentIsWritten adds an incident while Run writes another one, and stops immediately.
func TestTheLastIncidentIsWritten(t *testing.T) {
	for range 100 {
		dir := t.TempDir()
		j, _ := open(t, dir, 5)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- j.Run(ctx) }()
		j.Add(ended(1))
		for len(j.added) > 0 {
			runtime.Gosched() // until Run begins to write
		}
		j.Add(ended(2))
		cancel()
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		if again, _ := open(t, dir, 5); !reflect.DeepEqual(incidents(again), []string{"1", "2"}) {
			t.Fatalf("the file has %v", incidents(again))
		}
	}
}

// TestRunTriesAgain: the disk fails at first.
func TestRunTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		blocked := filepath.Join(dir, "data")
		if err := os.WriteFile(blocked, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		j := &Journal{path: filepath.Join(blocked, incidentsFile), size: 5, logger: slog.New(slog.NewTextHandler(&log, nil)), added: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- j.Run(ctx) }()
		j.Add(ended(1))
		time.Sleep(3 * saveAgainAfter)
		synctest.Wait()
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		time.Sleep(saveAgainAfter)
		synctest.Wait()
		if again, _ := open(t, blocked, 5); !reflect.DeepEqual(incidents(again), []string{"1"}) || strings.Count(log.String(), "cannot save incidents") != 1 || !strings.Contains(log.String(), "resumed") {
			t.Errorf("kept %v, log %s", incidents(again), &log)
		}
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// TestAFullDiskDamagesNoIncident lets only a part of an incident into the file, as a full disk does. The limit holds
// for the whole process, also for the log that go test keeps of each test, so it is set in a process of its own.
func TestAFullDiskDamagesNoIncident(t *testing.T) {
	if os.Getenv("KUBEFLAP_TEST_FULL_DISK") == "" {
		alone := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		alone.Env = append(os.Environ(), "KUBEFLAP_TEST_FULL_DISK=1")
		if out, err := alone.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	save(t, dir, ended(1))
	info, err := os.Stat(filepath.Join(dir, incidentsFile))
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var unlimited syscall.Rlimit
	limit := func(r *syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &unlimited); err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, dir, 500)
	j.Add(ended(2))
	limit(&syscall.Rlimit{Cur: uint64(info.Size()) + 10, Max: unlimited.Max})
	failure := j.write()
	if limit(&unlimited); failure == nil {
		t.Error("the disk was not full")
	}
	if err := j.write(); err != nil {
		t.Fatal(err)
	}
	if again, log := open(t, dir, 500); log != "" || !reflect.DeepEqual(incidents(again), []string{"1", "2"}) {
		t.Errorf("read %v, log %s", incidents(again), log)
	}
}
