package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/check"
	"github.com/kubeflap/kubeflap/exporter/clustertest"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

func TestCheckFailsOnEachRecordedIncident(t *testing.T) {
	for _, file := range recorded(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		junit := filepath.Join(t.TempDir(), "junit.xml")
		status, out, errOut := kubeflap(t, "check", "--recording", file, "--github", "--junit", junit)
		if status != 1 || errOut != "" {
			t.Errorf("%s: status %d, want 1: %s", name, status, errOut)
		}
		report, err := os.ReadFile(junit)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/check/"+name+".txt", out+"\n"+string(report))
	}
}

func TestCheckAccepts(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "allow.yaml"), "allow.node: 12s\nignore.namespace: [sh*]\n")
	for name, x := range map[string]struct {
		recording, args string
		status          int
	}{
		"a node that is not Ready for a while":    {"1-heartbeat-loss", "--allow.node=12s --allow.service=1s", 0},
		"but not for longer":                      {"1-heartbeat-loss", "--allow.node=11s --allow.service=1s", 1},
		"and not if its Services suffer":          {"1-heartbeat-loss", "--allow.node=12s", 1},
		"ignored nodes and namespaces":            {"1-heartbeat-loss", "--ignore.name=node-* --ignore.namespace=shop", 0},
		"ignored names":                           {"1-heartbeat-loss", "--ignore.name=node-2 --ignore.name=shop/w*", 0},
		"names of others":                         {"1-heartbeat-loss", "--ignore.name=node-1 --ignore.namespace=shop", 1},
		"what a file allows":                      {"1-heartbeat-loss", "--allow=FILE", 0},
		"less than a file, if a flag says so":     {"1-heartbeat-loss", "--allow.node=3s --allow=FILE", 1},
		"a file and a flag":                       {"1-heartbeat-loss", "--allow.node=3s --ignore.name=node-2 --allow=FILE", 0},
		"only what is ignored":                    {"4-endpoints-reset", "--ignore.namespace=kube-system", 1},
		"no addresses that stay away":             {"4-endpoints-reset", "--allow.service=1h", 1},
		"manually managed addresses":              {"4-endpoints-reset", "--ignore.namespace=kube-system --ignore.name=shop/database", 0},
		"blindness, but not the stall":            {"2-control-plane-stall", "--allow.blind=2m", 1},
		"the stall, but not the blindness":        {"2-control-plane-stall", "--allow.blind=10s --ignore.name=* --ignore.namespace=*", 1},
		"both":                                    {"2-control-plane-stall", "--allow.blind=2m --ignore.name=node-* --ignore.namespace=*", 0},
		"no in-place update":                      {"5-batch-upgrade", "--allow.node=1h", 1},
		"an in-place update that keeps addresses": {"5-batch-upgrade", "--allow.service=1s", 0},
	} {
		args := []string{"check", "--recording", incidentsDir + x.recording + ".jsonl.gz"}
		for _, arg := range strings.Fields(x.args) {
			args = append(args, strings.Replace(arg, "FILE", file, 1))
		}
		if status, out, errOut := kubeflap(t, args...); status != x.status {
			t.Errorf("%s: status %d, want %d: %s%s", name, status, x.status, out, errOut)
		}
	}
}

// A kubeflap that watches one namespace may lack the permission for nodes and Leases.
func TestCheckOfANamespaceNeedsNoPermissionForNodes(t *testing.T) {
	for _, x := range []struct {
		name                string
		lacks, before, then []event.Kind
		want                time.Duration
	}{
		{"nodes and Leases", []event.Kind{event.KindNode, event.KindLease}, nil, nil, 0},
		{"Leases", []event.Kind{event.KindLease}, nil, nil, 0},
		{"nodes and Leases, after a timeout", []event.Kind{event.KindNode, event.KindLease}, []event.Kind{event.KindNode}, nil, 0},
		{"pods", []event.Kind{event.KindPod}, nil, nil, time.Hour},
		{"no resource, but nodes time out", nil, nil, []event.Kind{event.KindNode}, time.Hour},
	} {
		c, s := clustertest.Told("start 3"), defaultSettings()
		s.tracker.Namespaced = true
		p := newPipeline(s, func() time.Time { return c.Now }, silent)
		c.Watchers[0].Sink = p.apply
		fail := func(kinds []event.Kind) {
			for _, k := range kinds {
				p.apply(event.Event{Seen: c.Now, Kind: k, Type: event.Down, Reason: event.ReasonTimeout})
			}
		}
		for _, k := range x.lacks {
			c.Watchers[0].Lack(k, event.ReasonForbidden)
		}
		fail(x.before)
		c.Start()
		c.RunUntil(100)
		fail(x.then)
		from := c.Now
		c.Now = from.Add(time.Hour)
		p.tick()
		answer := web.Answer([]web.Cluster{p.cluster()}, &api.Query{})
		if blind := check.Judge(&answer, from, c.Now, &check.Allowances{}).Blind; blind != x.want {
			t.Errorf("blind for %s without permission for %s, want %s", blind, x.name, x.want)
		}
	}
}

// The incidents of the replay began before the command.
func TestCheckPassesTheStatusOfTheCommandOn(t *testing.T) {
	url := serveIncidents(t, incidentsDir+"4-endpoints-reset.jsonl.gz")
	for command, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 1} {
		status, out, errOut := kubeflap(t, "check", "--url", url, "--", "sh", "-c", "echo did; "+command)
		if status != want || !strings.HasPrefix(out, "did\nPASSED") {
			t.Errorf("%s: status %d, want %d: %s%s", command, status, want, out, errOut)
		}
	}
	if status, _, errOut := kubeflap(t, "check", "--url", url, "--junit", filepath.Join(t.TempDir(), "no/junit.xml"), "--", "sh", "-c", "exit 7"); status != 7 || !strings.Contains(errOut, "no/junit.xml") {
		t.Errorf("status %d without a report: %s", status, errOut)
	}
	asked := false
	once := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		asked = true
		fmt.Fprint(w, `{"as_of":"2026-03-01T12:00:00Z"}`)
	}))
	t.Cleanup(once.Close)
	if status, _, errOut := kubeflap(t, "check", "--url", once.URL, "--", "sh", "-c", "exit 7"); status != 7 || !strings.Contains(errOut, "503") {
		t.Errorf("status %d without access after the command: %s", status, errOut)
	}
	blind := answering(t, `{"as_of":"2026-03-01T12:00:00Z","coverage":{"since":null,"incidents_lost_until":"2026-03-01T12:00:00Z"}}`)
	if _, out, _ := kubeflap(t, "check", "--url", blind, "--github", "--", "printf", "%s", "-o=json"); !strings.HasPrefix(out, "-o=json\n::error ") {
		t.Errorf("the arguments of the command changed, or the annotation does not begin a line: %s", out)
	}
	if status, _, errOut := kubeflap(t, "check", "--url", url, "--", "no-such-command"); status != 2 || !strings.Contains(errOut, "no-such-command") {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// TestCheckEndsWithTheCommand runs a command that leaves a process running, which still has its standard error.
func TestCheckEndsWithTheCommand(t *testing.T) {
	withoutRaceDetector(t)
	url := serveIncidents(t, incidentsDir+"4-endpoints-reset.jsonl.gz")
	cmd := process(t, "check", "--url", url, "--", "sh", "-c", "sleep 600 >/dev/null & echo $!")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Errorf("the process ended too early: %v: %s", err, text)
	}
}

// TestCheckPassesSIGTERMOn terminates kubeflap alone, like a container's runtime.
func TestCheckPassesSIGTERMOn(t *testing.T) {
	withoutRaceDetector(t)
	url := serveIncidents(t, incidentsDir+"4-endpoints-reset.jsonl.gz")
	cmd := process(t, "check", "--url", url, "--", "sh", "-c", "echo began; exec sleep 600 >/dev/null")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(reader)
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(string(text), "PASSED") {
		t.Errorf("%s: %s", cmd.ProcessState, text)
	}
}

// TestCheckDoesNotPassIfItIsInterrupted interrupts it long before the end of the period.
func TestCheckDoesNotPassIfItIsInterrupted(t *testing.T) {
	withoutRaceDetector(t)
	cmd := process(t, "check", "--url", serveIncidents(t, incidentsDir+"4-endpoints-reset.jsonl.gz"), "--for=1h")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(log).ReadString('\n'); err != nil || !strings.Contains(line, "msg=checking for=1h") {
		t.Fatalf("%s: %v", line, err)
	}
	if err := cmd.Cancel(); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "Not watched: all resources for 1h ") {
		t.Errorf("%s: %s", cmd.ProcessState, &out)
	}
}

// TestCheckNamesTheCluster checks several clusters. The gaps of two clusters at the same time are not added up.
func TestCheckNamesTheCluster(t *testing.T) {
	_, out, errOut := kubeflap(t, "check", "--url", serveIncidents(t, recorded(t)...), "--from=2026-11-20T00:00:00Z", "--github")
	for _, want := range []string{"  node-2 in 1-heartbeat-loss: not Ready for 11.4s\n", "::error title=node-2 in 1-heartbeat-loss%3A not Ready"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing: %s%s", want, out, errOut)
		}
	}
	gap := `"resources":["nodes\u001b[2J"],"from":"2026-03-01T12:00:00Z","to":"2026-03-01T12:01:30Z"}`
	url := answering(t, `{"as_of":"2026-03-01T13:00:00Z","coverage":{"since":"2026-03-01T12:00:00Z","gaps":[{"cluster":"east",`+gap+`,{"cluster":"west",`+gap+`]}}`)
	status, out, errOut := kubeflap(t, "check", "--url", url, "--from=2026-03-01T12:00:00Z")
	if status != 0 || !strings.Contains(out, `Not watched: nodes\x1b[2J in east for 90s (2m allowed)`) {
		t.Errorf("status %d: %q%s", status, out, errOut)
	}
}

func TestCheckOfAPeriod(t *testing.T) {
	url := serveIncidents(t, incidentsDir+"5-batch-upgrade.jsonl.gz")
	for period, want := range map[string]int{"12:18:20 12:19:00": 1, "12:18:20 12:18:30": 0, "12:18:52 12:19:00": 0} {
		from, to, _ := strings.Cut(period, " ")
		status, out, errOut := kubeflap(t, "check", "--url", url, fmt.Sprintf("--from=2026-11-23T%sZ", from), fmt.Sprintf("--to=2026-11-23T%sZ", to))
		if status != want {
			t.Errorf("%s: status %d, want %d: %s%s", period, status, want, out, errOut)
		}
	}
}

// The recording begins at 12:11:57, and ends at 12:12:43. The node is lost at 12:12:29.
func TestCheckDoesNotPassWhatNobodyWatched(t *testing.T) {
	source := map[string]string{"dir": "--recording=" + recordedIn(t, lostNode), "url": "--url=" + serveIncidents(t, lostNode)}
	for _, x := range []struct {
		from, to, more string
		status         int
		blind          string
	}{
		{"12:12:00", "12:12:20", "", 0, ""},
		{"12:11:30", "12:12:28", "", 0, "27."},
		{"12:11:30", "12:12:20", "", 1, "27."}, // more than half of the period
		{"12:11:30", "12:12:20", "--allow.blind=28s", 0, "27."},
		{"12:12:42.5", "12:13:00", "", 1, "17."},
		{"12:00:00", "12:12:20", "", 1, "11m57s"},
		{"12:12:42.5", "13:00:00", "", 1, "47m17s"},
	} {
		for name, flag := range source {
			args := append(strings.Fields(x.more), flag, "--from=2026-11-23T"+x.from+"Z", "--to=2026-11-23T"+x.to+"Z")
			status, out, errOut := kubeflap(t, append([]string{"check"}, args...)...)
			if status != x.status || strings.Contains(out, "Not watched: all resources for "+x.blind) != (x.blind != "") {
				t.Errorf("%s from %s to %s: status %d: %s%s", name, x.from, x.to, status, out, errOut)
			}
		}
	}
	if status, out, errOut := kubeflap(t, "check", source["url"], "--from=2099-01-01T00:00:00Z"); status != 2 || !strings.Contains(errOut, "--from is in the future") {
		t.Errorf("in the future: status %d: %s%s", status, out, errOut)
	}
}

func TestCheckRefuses(t *testing.T) {
	recording := "--recording=" + incidentsDir + "1-heartbeat-loss.jsonl.gz"
	for args, want := range map[string]string{
		"":                                    "what to check is missing",
		recording + " --allow.service=x":      "--allow.service",
		recording + " --allow.planned=x":      "--allow.planned",
		recording + " --ignore.name=[":        "--ignore.name",
		recording + " --allow=no-such-file":   "no-such-file",
		recording + " --url=http://localhost": "--url does not apply to --recording",
		recording + " -- true":                "--recording does not apply with a command",
		"--recording=no-such-file":            "no-such-file",
		"--for=1s --from=1":                   "--from does not apply to a live cluster",
		"--for=1s --from=1 --url=http://h":    "--from does not apply with --for",
		"--for=1s --to=1 --url=http://h":      "--to does not apply with --for",
		"--for=1s --url=http://127.0.0.1:1":   "--url: there is no response",
		"--for=1s --kubeconfig=no-such-file":  "no-such-file",
	} {
		if status, out, errOut := kubeflap(t, append([]string{"check"}, strings.Fields(args)...)...); status != 2 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d: %s%s", args, status, out, errOut)
		}
	}
	for text, want := range map[string]string{"allow.node: -1s": "negative", "allow.node: 1": "not a duration", "nodes: 1": "nodes", "nodes: []": "nodes", "b: 1\na: 2": `"a" is not`, "junit: x": "junit", "nodes: [1]": "nodes", "ignore.name: ['[']": "syntax error in pattern", "a: b: c": "yaml"} {
		file := write(t, filepath.Join(t.TempDir(), "allow.yaml"), text)
		if status, _, errOut := kubeflap(t, "check", recording, "--allow", file); status != 2 || !strings.Contains(errOut, want) || !strings.Contains(errOut, file) {
			t.Errorf("%s: status %d: %s", text, status, errOut)
		}
	}
}
