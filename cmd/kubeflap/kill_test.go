package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// churning is an API server with Services whose only pod flaps. It speaks JSON over HTTP.
type churning struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]string // objects holds the JSON of each object, by resource and name
	// changes holds the frames of all watches with their versions, by resource.
	changes map[string][]change
	changed chan struct{}
	// unready counts how often each pod stopped being ready. It has an entry for each pod that is not.
	unready int
	broken  map[int]bool
	// unlisted is how many losses happened before the first list of all pods, or -1 before this list. kubeflap counts
	// the others.
	unlisted int
}

type change struct {
	version int
	frame   string
}

const churningServices = 20

func newChurning() *churning {
	c := &churning{version: 100, objects: map[string]map[string]string{}, changes: map[string][]change{}, changed: make(chan struct{}), broken: map[int]bool{}, unlisted: -1}
	c.set("nodes", "node-1", `{"apiVersion":"v1","kind":"Node","metadata":{%s},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	for i := range churningServices {
		c.set("services", fmt.Sprintf("web-%d", i), `{"apiVersion":"v1","kind":"Service","metadata":{%s},"spec":{"selector":{"app":"web"},"clusterIP":"10.0.0.1"}}`)
		c.setReady(i, true)
	}
	return c
}

// set writes an object. text contains a placeholder for the metadata.
func (c *churning) set(resource, name, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(resource, name, text)
}

func (c *churning) setLocked(resource, name, text string) {
	c.version++
	if c.objects[resource] == nil {
		c.objects[resource] = map[string]string{}
	}
	what := "MODIFIED"
	if c.objects[resource][name] == "" {
		what = "ADDED"
	}
	labels := ""
	if resource == "endpointslices" {
		labels = fmt.Sprintf(`,"labels":{"kubernetes.io/service-name":%q,"endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"}`, name)
	}
	meta := fmt.Sprintf(`"name":%q,"namespace":"shop","uid":"%08x-0000-4000-8000-%012x","resourceVersion":"%d"`+labels, name, len(resource), hash(name), c.version)
	object := fmt.Sprintf(text, meta)
	c.objects[resource][name] = object
	c.changes[resource] = append(c.changes[resource], change{c.version, fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", what, object)})
	close(c.changed)
	c.changed = make(chan struct{})
}

func hash(s string) (sum int) {
	for _, b := range []byte(s) {
		sum = sum*31 + int(b)
	}
	return sum & 0xffffffffff
}

// setReady holds the lock until the objects are written. Otherwise, two calls for one pod could write in another order
// than they count.
func (c *churning) setReady(i int, ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ready && !c.broken[i] {
		c.unready++
	}
	c.broken[i] = !ready
	name, status := fmt.Sprintf("web-%d", i), map[bool]string{true: "True", false: "False"}[ready]
	c.setLocked("pods", name, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{%%s},"spec":{"nodeName":"node-1"},"status":{"phase":"Running","podIP":"10.1.0.%d",`+
		`"conditions":[{"type":"Ready","status":%q},{"type":"ContainersReady","status":%q}]}}`, i+1, status, status))
	c.setLocked("endpointslices", name, fmt.Sprintf(`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","addressType":"IPv4","metadata":{%%s},"endpoints":[{"addresses":["10.1.0.%d"],`+
		`"conditions":{"ready":%v},"nodeName":"node-1","targetRef":{"kind":"Pod","namespace":"shop","name":%q,"uid":"%08x-0000-4000-8000-%012x"}}],"ports":[{"port":80}]}`,
		i+1, ready, name, len("pods"), hash(name)))
}

// losses returns how often pods stopped being ready.
func (c *churning) losses() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unready
}

// forgetList makes the next list of all pods count as the first one, because another process starts.
func (c *churning) forgetList() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlisted = -1
}

// listed returns how often pods had stopped being ready before the first list of all pods. ok is false before this list.
func (c *churning) listed() (n int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unlisted, c.unlisted >= 0
}

// churn makes pods fail for up to 3 s each until the context is canceled.
func (c *churning) churn(ctx context.Context) {
	for ctx.Err() == nil {
		i := rand.IntN(churningServices)
		go func() {
			c.setReady(i, false)
			time.Sleep(time.Duration(100+rand.IntN(3000)) * time.Millisecond)
			c.setReady(i, true)
		}()
		time.Sleep(time.Duration(50+rand.IntN(1500)) * time.Millisecond)
	}
}

// ServeHTTP implements http.Handler.
func (c *churning) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, query := path.Base(r.URL.Path), r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	kinds := map[string]string{"nodes": "Node", "leases": "Lease", "pods": "Pod", "services": "Service", "endpointslices": "EndpointSlice", "endpoints": "Endpoints"}
	switch {
	case resource == "version":
		fmt.Fprint(w, `{"gitVersion":"v1.34.0"}`)
	case kinds[resource] == "" || strings.Contains(r.URL.Path, "kube-system") || query.Has("sendInitialEvents"):
		code, reason := http.StatusNotFound, "NotFound"
		if query.Has("sendInitialEvents") {
			code, reason = http.StatusUnprocessableEntity, "Invalid"
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,"message":"not here"}`, code, reason)
	case query.Has("watch"):
		c.watch(w, r, resource, query.Get("resourceVersion"))
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		if resource == "pods" && query.Get("limit") != "1" && c.unlisted < 0 {
			c.unlisted = c.unready
		}
		group := map[string]string{"leases": "coordination.k8s.io/v1", "endpointslices": "discovery.k8s.io/v1"}[resource]
		if group == "" {
			group = "v1"
		}
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"},"items":[%s]}`, group, kinds[resource]+"List", c.version,
			strings.Join(slices.Collect(maps.Values(c.objects[resource])), ","))
	}
}

func (c *churning) watch(w http.ResponseWriter, r *http.Request, resource, from string) {
	after, _ := strconv.Atoi(from)
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if from == "" {
		<-r.Context().Done() // this is a permission check
		return
	}
	for {
		c.mu.Lock()
		var frames strings.Builder
		all := c.changes[resource]
		for i := len(all) - 1; i >= 0 && all[i].version > after; i-- {
			frames.Reset()
			for _, x := range all[i:] {
				frames.WriteString(x.frame)
			}
		}
		after = c.version
		changed := c.changed
		c.mu.Unlock()
		if _, err := io.WriteString(w, frames.String()); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

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
	events, _, err := flightrecorder.Read(k.t.Context(), k.dir, began, time.Now())
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
