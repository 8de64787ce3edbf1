package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/watch"
)

// TestRawWatches serves the bytes of real lists and watches to kubeflap, at their recorded times. It thereby tests the
// decoder, the watches and the tracker together. The results must agree with the facts of the lab's recorder, as in
// TestLabRecordings.
func TestRawWatches(t *testing.T) {
	parts := map[string]bool{}
	for _, file := range labFiles(t, ".raw.gz") {
		name := strings.TrimSuffix(filepath.Base(file), ".raw.gz")
		records := readRaw(t, file)
		for _, x := range records {
			parts[x.Part], parts[x.Type] = true, true
		}
		for how, configure := range map[string]func(*rawAPI){
			"watches that stay open": func(*rawAPI) {},
			// Servers end watches after some minutes. The next watch resumes where the last one ended.
			"watches that end": func(a *rawAPI) { a.endWatches() },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				x := readFacts(t, strings.TrimSuffix(file, ".raw.gz")+factsSuffix)
				synctest.Test(t, func(t *testing.T) {
					api := newRawAPI(records)
					configure(api)
					watchRaw(t, x, api)
				})
			})
		}
	}
	for _, part := range []string{"list", "initial", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "break"} {
		if !parts[part] {
			t.Errorf("no recording contains the part %s", part)
		}
	}
}

// watchRaw runs kubeflap's watches until the end of the facts. It must run in a synctest bubble.
func watchRaw(t *testing.T, x *facts, api *rawAPI) {
	time.Sleep(time.Until(api.segments[0].from))
	run := newFactRun(t, x, time.Now)
	w, err := watch.New(api.config(), "the API server", "", slog.New(slog.DiscardHandler), run.apply)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: api}
	go func() { _ = server.Serve(api) }()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	time.Sleep(time.Until(x.Segments[len(x.Segments)-1].Until) + time.Second)
	stop()
	if err := errors.Join(<-ended, server.Close()); err != nil {
		t.Error(err)
	}
	run.check()
}

// rawRecord is a part of a recording of the API server's responses (see lab/rawwatch, type Record).
type rawRecord struct {
	Seen                          time.Time
	Part, Resource, Type, Version string
	Size                          int
	body                          []byte
}

func readRaw(t *testing.T, file string) []rawRecord {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(unzip)
	var all []rawRecord
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return all
		}
		var x rawRecord
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		x.body = make([]byte, x.Size+1) // with the newline
		if _, err := io.ReadFull(in, x.body); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		x.body = x.body[:x.Size]
		all = append(all, x)
	}
}

// rawAPI is an API server that sends recorded bytes. It is also its own listener.
type rawAPI struct {
	server   []byte
	segments []rawSegment
	pipes    chan net.Conn
	closed   chan struct{}
	// At the time end, all watches end, if it is not zero.
	end time.Time
}

// rawSegment is the time between a list and the end of the watches. If until is zero, the watches do not end.
type rawSegment struct {
	from, until time.Time
	resources   map[string]*rawResource
}

type rawResource struct {
	list    []byte
	version int
	events  []rawRecord
}

func newRawAPI(records []rawRecord) *rawAPI {
	a := &rawAPI{pipes: make(chan net.Conn), closed: make(chan struct{})}
	ended := true
	for _, x := range records {
		if x.Part == "break" {
			a.segments[len(a.segments)-1].until, ended = x.Seen, true
			continue
		}
		if ended {
			a.segments, ended = append(a.segments, rawSegment{resources: map[string]*rawResource{}}), false
		}
		s := &a.segments[len(a.segments)-1]
		switch r := s.resources[x.Resource]; x.Part {
		case "server":
			a.server = x.body
		case "list":
			s.resources[x.Resource] = &rawResource{list: x.body, version: number(x.Version)}
		case "initial":
			s.from = x.Seen // kubeflap does not request streamed lists
		case "event":
			r.events = append(r.events, x)
		}
	}
	return a
}

func number(version string) int {
	n, _ := strconv.Atoi(version)
	return n
}

// ServeHTTP answers like an API server at the recorded time. Between two segments, it answers 503. A watch that resumes
// from before the segment's list has expired.
func (a *rawAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := a.segment()
	query := r.URL.Query()
	if r.URL.Path == "/version" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.server)
		return
	}
	resource := s.resources[r.URL.Path]
	switch {
	case resource == nil && path.Base(path.Dir(r.URL.Path)) == "leases":
		http.Error(w, "no direct reads", http.StatusServiceUnavailable)
	case resource == nil:
		http.NotFound(w, r)
	case s.over():
		http.Error(w, "between two segments", http.StatusServiceUnavailable)
	case !query.Has("watch"):
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(resource.list)
	default:
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		if resource.isExpired(query) {
			_, _ = w.Write(expiredEvent())
			return
		}
		ctx := r.Context()
		if time.Now().Before(a.end) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, a.end)
			defer cancel()
		}
		s.watch(ctx, w, resource, query)
	}
}

// segment returns the newest segment that has begun.
func (a *rawAPI) segment() *rawSegment {
	now := 0
	for i := range a.segments {
		if !time.Now().Before(a.segments[i].from) {
			now = i
		}
	}
	return &a.segments[now]
}

func (s *rawSegment) over() bool { return !s.until.IsZero() && !time.Now().Before(s.until) }

// isExpired reports whether a watch starts before the list.
func (r *rawResource) isExpired(query url.Values) bool {
	version := number(query.Get("resourceVersion"))
	return query.Has("watch") && version > 0 && version < r.version
}

// expiredEvent is what an API server sends if a watch starts at a version that is too old. The response has status 200
// (apiserver, cacher.Watch).
func expiredEvent() []byte {
	status := apierrors.NewResourceExpired("too old resource version").Status()
	return frame("ERROR", document(runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, marshal(&status)))
}

// endWatches ends all watches in the middle of the recording.
func (a *rawAPI) endWatches() {
	begin, end := a.segments[0].from, a.segments[0].from
	for _, r := range a.segments[0].resources {
		for _, x := range r.events {
			if x.Seen.After(end) {
				end = x.Seen
			}
		}
	}
	a.end = begin.Add(end.Sub(begin) / 2)
}

// watch sends each event at its recorded time, until the segment or the request ends.
func (s *rawSegment) watch(ctx context.Context, w http.ResponseWriter, resource *rawResource, query url.Values) {
	after := number(query.Get("resourceVersion"))
	if seconds, _ := strconv.Atoi(query.Get("timeoutSeconds")); seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	if !s.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.until)
		defer cancel()
	}
	for _, x := range resource.events {
		if number(x.Version) <= after && x.Type != "BOOKMARK" {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(x.Seen)):
			writeFrame(w, x.body)
		}
	}
	<-ctx.Done()
}

func writeFrame(w http.ResponseWriter, frame []byte) {
	_, _ = w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(frame))))
	_, _ = w.Write(frame)
	w.(http.Flusher).Flush()
}

func (a *rawAPI) config() *rest.Config {
	return &rest.Config{Host: "http://kube.test", UserAgent: "kubeflap/test", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case a.pipes <- theirs:
			return ours, nil
		case <-a.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// Accept, Close and Addr implement net.Listener.
func (a *rawAPI) Accept() (net.Conn, error) {
	select {
	case conn := <-a.pipes:
		return conn, nil
	case <-a.closed:
		return nil, net.ErrClosed
	}
}

func (a *rawAPI) Close() error {
	close(a.closed)
	return nil
}

func (a *rawAPI) Addr() net.Addr { return &net.UnixAddr{} }
