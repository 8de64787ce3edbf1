package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/archive"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// nodeLost returns an ongoing incident: at 12:01 a node was lost, and with it the last address of a Service.
func nodeLost() incident.Incident {
	return incident.Incident{
		ID: "1111111111111111", Start: at(1), State: incident.StateRunning, Cause: cause.NodeHeartbeatLost, Scope: incident.ScopeNode, Subject: "node-1",
		Nodes: []string{"node-1"}, Lost: 2, Outages: 1, OutageTime: time.Minute, Turned: 1,
		Services: []incident.Service{{Namespace: "shop", Name: "web", Lost: 2, Outages: 1, OutageTime: time.Minute, Down: true}},
		Decision: verdict.Decision{Verdict: verdict.Node, Considered: []verdict.Considered{{Verdict: verdict.Node, Holds: verdict.Yes, Because: "the others were in time"}}},
		Numbers:  incident.Numbers{GracePeriod: 40 * time.Second, Windows: []advice.Window{{Length: time.Second, Bounces: 1}}},
		Evidence: []incident.Evidence{{Time: at(1), Until: at(1), Count: 1, Text: "no heartbeat of node-1"}},
		Timeline: []incident.Span{{Track: incident.TrackNode, Name: "node-1", Start: at(1)}},
		Summary:  "Node node-1 sent no heartbeat.", Remedy: "Look at its kubelet.",
	}
}

func ended() incident.Incident {
	x := nodeLost()
	x.ID, x.State, x.Start, x.End, x.Subject, x.Nodes, x.Services = "2222222222222222", incident.StateEnded, at(-30), at(-20), "node-9", []string{"node-9"}, nil
	return x
}

func open(t *testing.T, path string) (*Journal, []archive.Saved) {
	t.Helper()
	j, saved, err := Open(path, 500)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, saved
}

func TestSavedIncidentsAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, saved := open(t, path)
	if len(saved) != 0 {
		t.Fatalf("a new file has %d incidents", len(saved))
	}
	changed := nodeLost()
	changed.Lost = 7
	for _, err := range []error{j.Save(at(0), ended(), nodeLost()), j.Save(at(2), changed), j.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, saved = open(t, path)
	if want := []archive.Saved{{Time: at(0), Incident: ended()}, {Time: at(2), Incident: changed}}; !reflect.DeepEqual(saved, want) {
		t.Errorf("got  %+v\nwant %+v", saved, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600: %v", info.Mode(), err)
	}
}

// TestALineThatWasCutShort truncates the file at every byte of a line, because a process can be killed at any point.
func TestALineThatWasCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _ := open(t, path)
	if err := j.Save(at(0), ended()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) - 1 {
		if err := os.WriteFile(path, append(slices.Clone(whole), whole[:cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		j, saved := open(t, path)
		if len(saved) != 1 || saved[0].Incident.ID != ended().ID {
			t.Fatalf("cut after %d bytes: %+v", cut, saved)
		}
		if err := j.Save(at(1), nodeLost()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if _, saved := open(t, path); len(saved) != 2 {
			t.Fatalf("cut after %d bytes, then saved: %d incidents, want 2", cut, len(saved))
		}
	}
}

func TestAMergedIncidentIsNotReadTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _ := open(t, path)
	into := ended()
	into.Also = []string{nodeLost().ID}
	if err := j.Save(at(0), nodeLost()); err != nil {
		t.Fatal(err)
	}
	if err := j.Save(at(1), into); err != nil {
		t.Fatal(err)
	}
	found, err := load(path)
	if kept, _ := found.newest(500); err != nil || len(kept) != 1 || kept[0].Incident.ID != into.ID {
		t.Errorf("got %+v, %v", kept, err)
	}
}

func TestASecondProcessSavesWhenTheFirstHasEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	first, _ := open(t, path)
	if err := first.Save(at(0), ended()); err != nil {
		t.Fatal(err)
	}
	second, saved := open(t, path)
	if len(saved) != 1 {
		t.Errorf("the second process reads %d incidents, want one", len(saved))
	}
	if err := second.Save(at(1), nodeLost()); err == nil || err.Error() != "another process saves its incidents in "+path {
		t.Errorf("error %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Save(at(2)); err != nil {
		t.Fatal(err)
	}
	if found, err := load(path); err != nil || len(found.saved) != 2 {
		t.Errorf("got %d incidents, want 2: %v", len(found.saved), err)
	}
}

func TestTheFileDoesNotGrowForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _ := open(t, path)
	x := nodeLost()
	x.Summary = strings.Repeat("x", 100_000)
	for i := range 200 {
		if err := j.Save(at(float64(i)), x); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 5<<20 {
		t.Errorf("size %d, want at most 5 MiB: %v", info.Size(), err)
	}
}

// TestOngoingIncidentsAreNotDisplaced saves an ongoing incident, and too many ended incidents that are newer.
func TestOngoingIncidentsAreNotDisplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _ := open(t, path)
	j.size = 5
	ongoing := nodeLost()
	ongoing.Start = at(-10000)
	all := []incident.Incident{ongoing}
	for i := range 6 {
		x := ended()
		x.ID, x.Start = fmt.Sprintf("%016x", 100+i), at(float64(i))
		all = append(all, x)
	}
	if err := j.Save(at(10), all...); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, saved, err := Open(path, 5)
	if err != nil || len(saved) != 5 || saved[0].Incident.ID != ongoing.ID || saved[4].Incident.ID != all[6].ID {
		t.Errorf("%v: %+v, want the ongoing incident and the four newest", err, saved)
	}
}

// TestALargeFileIsNotRewrittenForEachSave fills the journal with incidents that together exceed the size at which it is
// rewritten.
func TestALargeFileIsNotRewrittenForEachSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _ := open(t, path)
	var all []incident.Incident
	for i := range 300 {
		x := ended()
		x.ID, x.Summary = fmt.Sprintf("%016x", i), strings.Repeat("x", 20<<10)
		all = append(all, x)
	}
	if err := j.Save(at(1), all...); err != nil {
		t.Fatal(err)
	}
	rewrites, last := 0, int64(0)
	for i := range 350 {
		if err := j.Save(at(float64(i)), all[i%300]); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < last {
			rewrites++
		}
		last = info.Size()
	}
	if rewrites == 0 || rewrites > 2 {
		t.Errorf("the file was rewritten %d times in 350 saves", rewrites)
	}
}

// TestLinesThatAreTooLongAreSkipped reads a file with zeros in the middle, as a power failure can leave them.
func TestLinesThatAreTooLongAreSkipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	j, _ := open(t, path)
	if err := j.Save(at(1), ended()); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(append(make([]byte, maxLine+1), '\n')); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Save(at(2), nodeLost()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, saved := open(t, path); len(saved) != 2 {
		t.Errorf("%d incidents, want both", len(saved))
	}
}

// TestIncidentsThatNoLongerFitAreCounted saves more incidents than fit, and opens the file again and again. Each
// displaced incident must be counted once, even after the file was rewritten without it.
func TestIncidentsThatNoLongerFitAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "incidents.jsonl")
	save := func(from, to int) {
		t.Helper()
		j, _, err := Open(path, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < to; i++ {
			x := ended()
			x.ID, x.Start, x.End = fmt.Sprintf("%016x", i), at(float64(i)), at(float64(i)+0.5)
			if err := j.Save(at(float64(i)+1), x); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		from, to int
		want     incident.Displaced
	}{
		{0, 3, incident.Displaced{}},
		{3, 5, incident.Displaced{Count: 2, Until: at(1.5)}},
		{5, 5, incident.Displaced{Count: 2, Until: at(1.5)}},
		{5, 9, incident.Displaced{Count: 6, Until: at(5.5)}},
	} {
		save(c.from, c.to)
		j, saved, err := Open(path, 3)
		if err != nil || len(saved) != 3 || j.Displaced().Count != c.want.Count || !j.Displaced().Until.Equal(c.want.Until) {
			t.Errorf("after %d incidents: %d are loaded, and %+v displaced, want %+v: %v", c.to, len(saved), j.Displaced(), c.want, err)
		}
	}
}
