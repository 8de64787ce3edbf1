package watch

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// fakeAPI implements the part of the API that kubeflap needs. It serves over in-memory pipes, so that it can run in
// a synctest bubble. Tests set the fields to configure its responses.
type fakeAPI struct {
	pipes  chan net.Conn
	closed chan struct{}
	server *http.Server

	lock sync.Mutex
	// refuse maps a verb and resource, such as "list pods", to an HTTP status. The key "" applies to all requests.
	refuse map[string]int
	// down makes the server refuse connections.
	down  bool
	conns []net.Conn
	// nextPages is the HTTP status of all pages but the first, if it is not 0.
	nextPages int
	// hangs holds the requests that get no response, like "list pods".
	hangs map[string]bool
	// expired makes each watch that does not start at the version of the list receive an error event with code 410.
	expired bool
	// odd holds the faults of each resource's watch.
	odd map[string]odd
	// foreign holds responses that are not from the API, by keys like "list pods". The key "" applies to all requests.
	foreign map[string]foreign
	// leases holds the responses to direct reads, by Lease name. readyz is the body of /readyz; if it is not empty, the
	// status is 500.
	leases map[string]fakeLease
	readyz string
	// version is the server's version.
	version string
	// objects holds the objects of the lists, by resource.
	objects map[string][]*runtime.Unknown
	// streams holds each resource's most recent watch.
	streams map[string]*fakeStream
	// progressed holds the resources that were listed since their watch was opened.
	progressed map[string]bool
	// requests holds the received queries, by keys like "list pods". paths holds each resource's last path.
	requests map[string][]string
	paths    map[string]string
}

// fakeStream is an open watch. The preflight's watches have no fakeStream.
type fakeStream struct {
	frames chan string
	end    chan struct{}
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{
		pipes: make(chan net.Conn), closed: make(chan struct{}), refuse: map[string]int{}, objects: map[string][]*runtime.Unknown{},
		streams: map[string]*fakeStream{}, odd: map[string]odd{}, progressed: map[string]bool{}, requests: map[string][]string{}, paths: map[string]string{},
	}
	f.server = &http.Server{Handler: f}
	go func() { _ = f.server.Serve(f) }()
	t.Cleanup(func() { _ = f.server.Close() })
	return f
}

// Accept, Close and Addr implement net.Listener.
func (f *fakeAPI) Accept() (net.Conn, error) {
	select {
	case conn := <-f.pipes:
		return conn, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *fakeAPI) Close() error {
	close(f.closed)
	return nil
}

func (f *fakeAPI) Addr() net.Addr { return &net.UnixAddr{} }

func (f *fakeAPI) config() *rest.Config {
	return &rest.Config{Host: "http://kube.test", UserAgent: "kubeflap/test", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		f.lock.Lock()
		down := f.down
		f.lock.Unlock()
		if down {
			return nil, refusedConnection()
		}
		ours, theirs := net.Pipe()
		select {
		case f.pipes <- theirs:
			f.set(func() { f.conns = append(f.conns, theirs) })
			return ours, nil
		case <-f.closed: // a transport may dial although no request is waiting for the connection
			return nil, refusedConnection()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// crash closes all connections and refuses new ones.
func (f *fakeAPI) crash() {
	f.set(func() {
		f.down = true
		for _, conn := range f.conns {
			_ = conn.Close()
		}
	})
}

// set changes the responses.
func (f *fakeAPI) set(change func()) {
	f.lock.Lock()
	defer f.lock.Unlock()
	change()
}

func (f *fakeAPI) asked(what string) []string {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.requests[what]
}

func (f *fakeAPI) stream(resource string) *fakeStream {
	synctest.Wait()
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.streams[resource]
}

func (s *fakeStream) send(what string, object *runtime.Unknown) { s.write(frame(what, object)) }

func (s *fakeStream) write(frame string) {
	s.frames <- frame
	synctest.Wait()
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, query := path.Base(r.URL.Path), r.URL.Query()
	verb := "list"
	if query.Has("watch") {
		verb = "watch"
	}
	name := ""
	if strings.HasSuffix(r.URL.Path, "/namespaces/kube-system/leases") {
		resource = "controlplaneleases"
	}
	if path.Base(path.Dir(r.URL.Path)) == "leases" {
		verb, resource, name = "get", "leases", resource
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	f.lock.Lock()
	f.requests[verb+" "+resource] = append(f.requests[verb+" "+resource], r.URL.RawQuery)
	f.paths[resource] = r.URL.Path
	code := max(f.refuse[verb+" "+resource], f.refuse[""])
	if query.Has("continue") {
		code = max(code, f.nextPages)
	}
	hangs := f.hangs[verb+" "+resource] && query.Get("limit") != "1"
	instead, misled := f.foreign[verb+" "+resource]
	if !misled {
		instead, misled = f.foreign[""]
	}
	readyz, version := f.readyz, cmp.Or(f.version, "v1.36.3")
	f.progressed[resource] = f.progressed[resource] || verb == "list"
	f.lock.Unlock()
	switch {
	case hangs:
		<-r.Context().Done()
	case misled:
		w.Header().Set("Content-Type", instead.contentType)
		w.WriteHeader(instead.code)
		fmt.Fprint(w, instead.body)
	case resource == "readyz":
		if w.Header().Set("Content-Type", "text/plain; charset=utf-8"); readyz != "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, readyz)
	case code != 0:
		f.refuseWith(w, code, fmt.Sprintf(`%s is forbidden: User "flap" cannot %s resource %q`, resource, verb, resource))
	case resource == "version":
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		fmt.Fprintf(w, `{"gitVersion":%q}`, version)
	case verb == "get":
		f.lease(w, r, name)
	case verb == "list":
		f.list(w, resource, query.Get("continue"), query.Has("limit"))
	case query.Get("timeoutSeconds") == "1":
		writeFrame(w, "")
		<-r.Context().Done()
	default:
		f.watch(w, r, resource)
	}
}

func (*fakeAPI) refuseWith(w http.ResponseWriter, code int, message string) {
	reason := map[int]metav1.StatusReason{
		401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
		410: metav1.StatusReasonExpired, 422: metav1.StatusReasonInvalid, 503: metav1.StatusReasonServiceUnavailable,
	}[code]
	w.WriteHeader(code)
	_, _ = w.Write(document(encoded("v1", "Status", status(code, reason, message))))
}

// list responds with all objects, or with a page of one object if pages is true.
func (f *fakeAPI) list(w http.ResponseWriter, resource, from string, pages bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	at, next, items := 0, "", f.objects[resource]
	_, _ = fmt.Sscan(from, &at)
	if pages && at < len(items) {
		if at+1 < len(items) {
			next = fmt.Sprint(at + 1)
		}
		items = items[at : at+1]
	}
	_, _ = w.Write(document(apiList(resource, next, items)))
}
