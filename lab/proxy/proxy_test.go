package proxy

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	patience = 30 * time.Second
	pods     = "/api/v1/pods?watch=true"
	nodes    = "/api/v1/nodes?watch=true"
)

// server is an API server whose watches send the test's events.
type server struct {
	*httptest.Server
	// events holds the events to send, by resource.
	events map[string]chan string
}

func newServer(t *testing.T) *server {
	s := &server{events: map[string]chan string{"pods": make(chan string, 16), "nodes": make(chan string, 16)}}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, watch := parse(r.URL)
	if !watch {
		fmt.Fprintf(w, "list of %s for %s\x00\xff", resource, r.Header.Get("Authorization"))
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case event := <-s.events[resource]:
			fmt.Fprintln(w, event)
			w.(http.Flusher).Flush()
		}
	}
}

// through starts a server and a proxy in front of it. It returns both, and a client whose kubeconfig uses the proxy.
func through(t *testing.T) (*server, *Proxy, *http.Client) {
	t.Helper()
	s := newServer(t)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	p, err := Start(&rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	direct, led := filepath.Join(t.TempDir(), "direct"), filepath.Join(t.TempDir(), "led")
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{Server: s.URL}
	config.AuthInfos["u"] = &api.AuthInfo{Token: "secret"}
	config.Contexts["x"] = &api.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*config, direct); err != nil {
		t.Fatal(err)
	}
	if err := p.Kubeconfig(direct, led); err != nil {
		t.Fatal(err)
	}
	access, err := clientcmd.BuildConfigFromFlags("", led)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(access)
	if err != nil {
		t.Fatal(err)
	}
	return s, p, client
}

// get returns the status and the whole body of a response.
func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	response := open(t, client, url)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func open(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// follow opens a watch and sends its lines to a channel, which it closes when the watch ends.
func follow(t *testing.T, client *http.Client, url string) <-chan string {
	t.Helper()
	response := open(t, client, url)
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

func expect(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	select {
	case got := <-lines: // got is empty if the watch has ended
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("timeout waiting for %q", want)
	}
}

func expectSilence(t *testing.T, lines <-chan string) {
	t.Helper()
	select {
	case got, still := <-lines:
		t.Fatalf("got %q from a silent watch (open: %t)", got, still)
	default:
	}
}

func TestEverythingElseGoesThroughAsItIs(t *testing.T) {
	_, p, client := through(t)
	p.Delay(time.Hour, "pods")
	if _, body := get(t, client, p.URL+"/apis/x/v1/namespaces/n/pods"); body != "list of pods for Bearer secret\x00\xff" {
		t.Errorf("got %q", body)
	}
}

func TestADelayedWatchIsLateAndInOrder(t *testing.T) {
	const late = 300 * time.Millisecond
	s, p, client := through(t)
	p.Delay(late, "pods")
	slow, fast := follow(t, client, p.URL+pods), follow(t, client, p.URL+nodes)
	sent := time.Now()
	for i := range 5 {
		s.events["pods"] <- fmt.Sprint(i)
	}
	s.events["nodes"] <- "in time"
	expect(t, fast, "in time")
	for i := range 5 {
		expect(t, slow, fmt.Sprint(i))
		if early := late - time.Since(sent); early > 0 {
			t.Errorf("event %d arrived %s too early", i, early)
		}
	}
}

func TestFrozenWatchesAreSilentUntilTheyThaw(t *testing.T) {
	s, p, client := through(t)
	frozen, other := follow(t, client, p.URL+pods), follow(t, client, p.URL+nodes)
	p.Freeze("pods")
	s.events["pods"] <- "a"
	s.events["nodes"] <- "b"
	expect(t, other, "b")
	expectSilence(t, frozen)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		open(t, client, p.URL+pods)
	}()
	get(t, client, p.URL+"/api/v1/pods") // by then, the new watch would usually have a response
	select {
	case <-answered:
		t.Error("a frozen watch got a response")
	default:
	}
	p.Thaw()
	expect(t, frozen, "a")
	select {
	case <-answered:
	case <-time.After(patience):
		t.Error("no response after the thaw")
	}
}

func TestAnAnswerInTheServersPlaceEndsTheWatches(t *testing.T) {
	_, p, client := through(t)
	watch := follow(t, client, p.URL+pods)
	p.Answer(http.StatusNotFound)
	expect(t, watch, "")
	if status, _ := get(t, client, p.URL+"/version"); status != http.StatusNotFound {
		t.Errorf("got %d", status)
	}
	p.Answer(0)
	if status, _ := get(t, client, p.URL+"/version"); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
}

func TestWatchesThatEndAtOnce(t *testing.T) {
	s, p, client := through(t)
	watch := follow(t, client, p.URL+pods)
	p.EndWatches(true)
	expect(t, watch, "")
	if status, body := get(t, client, p.URL+pods); status != http.StatusOK || body != "" {
		t.Errorf("got %d, %q", status, body)
	}
	p.EndWatches(false)
	watch = follow(t, client, p.URL+nodes)
	s.events["nodes"] <- "back"
	expect(t, watch, "back")
}
