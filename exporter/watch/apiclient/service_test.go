package apiclient

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// apiServer serves JSON at paths. A path with a trailing slash is a proxy to a backend.
type apiServer struct {
	answers  map[string]string
	backends map[string]*httptest.Server
	// asked holds the received paths and queries, in order.
	asked []string
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.RequestURI())
	for prefix, backend := range s.backends {
		if path, ok := strings.CutPrefix(r.URL.Path, prefix); ok {
			target, _ := url.Parse(backend.URL)
			if !strings.Contains(prefix, "/https:") {
				target.Scheme = "http"
			}
			proxy := &httputil.ReverseProxy{
				Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.URL.Path = path },
				Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
			}
			proxy.ServeHTTP(w, r)
			return
		}
	}
	answer, ok := s.answers[r.URL.Path]
	switch {
	case !ok:
		answer = status(http.StatusForbidden, "Forbidden", r.URL.Path+" is forbidden")
		w.WriteHeader(http.StatusForbidden)
	case strings.Contains(answer, `"Status"`):
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprint(w, answer)
}

func status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message)
}

// services returns a list of Services. Each argument is namespace/name:port.
func services(all ...string) string {
	var items []string
	for _, text := range all {
		namespace, rest, _ := strings.Cut(text, "/")
		name, port, _ := strings.Cut(rest, ":")
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q},"spec":{"ports":[%s]}}`, namespace, name, port))
	}
	return `{"kind":"ServiceList","items":[` + strings.Join(items, ",") + `]}`
}

const httpPort = `{"name":"http","port":9969}`

func start(t *testing.T, s *apiServer) *Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	// The API of some clusters is under a path on a shared host.
	c, err := New(&rest.Config{Host: server.URL + "/clusters/a"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFindService(t *testing.T) {
	const all, shop, mine = "/clusters/a/api/v1/services", "/clusters/a/api/v1/namespaces/shop/services", "/clusters/a/api/v1/namespaces/mine/services"
	for _, c := range []struct {
		name    string
		answers map[string]string
		want    string
		fails   string
	}{
		{"one", map[string]string{all: services("monitoring/flap:" + httpPort)}, "monitoring/flap", ""},
		{"its port has another name", map[string]string{all: services(`monitoring/flap:{"name":"web","port":80}`)}, "monitoring/flap:80", ""},
		{"it has other ports, too", map[string]string{all: services(`monitoring/flap:{"name":"web","port":80},` + httpPort)}, "monitoring/flap", ""},
		{"none", map[string]string{all: services()}, "", "no Service with the label app.kubernetes.io/name=kubeflap in any namespace"},
		{"several", map[string]string{all: services("a/flap:"+httpPort, "b/flap:"+httpPort)}, "", "choose one with --service: a/flap b/flap"},
		{"only in a namespace that may be listed", map[string]string{shop: services("shop/flap:" + httpPort)}, "shop/flap", ""},
		{"none in those that may be listed", map[string]string{shop: services(), mine: services()}, "", "in the namespace mine or shop (you may not list all namespaces)"},
		{"no namespace may be listed", nil, "", "cannot find kubeflap's Service: " + shop + " is forbidden. Use --service=NAMESPACE/NAME"},
		{"something else answers", map[string]string{all: "<html>"}, "", "cannot find kubeflap's Service: the response is unreadable"},
		{"the server is not ready", map[string]string{all: status(503, "ServiceUnavailable", "not ready")}, "", "cannot find kubeflap's Service: not ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &apiServer{answers: c.answers}
			got, err := start(t, s).FindService(t.Context(), "shop", "mine", "shop")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("got %v, %v, want an error with %q", got, err, c.fails)
				}
				if text := "find kubeflap's Service"; strings.Count(err.Error(), text) > 1 {
					t.Errorf("%q contains %q twice", err, text)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("got %v, %v, want %s", got, err, c.want)
			}
			if want := all + "?labelSelector=app.kubernetes.io%2Fname%3Dkubeflap"; s.asked[0] != want {
				t.Errorf("asked for %s, want %s", s.asked[0], want)
			}
		})
	}
}

func TestParseService(t *testing.T) {
	for text, want := range map[string]Service{
		"monitoring/kubeflap": {"monitoring", "kubeflap", "http"}, "a/b:web": {"a", "b", "web"}, "a/b:80": {"a", "b", "80"},
		"": {}, "kubeflap": {}, "/b": {}, "a/": {}, "a/b:": {}, "a/b:99999": {}, "a/b/c": {}, "a/../b": {}, "a/b?x": {}, "A/b": {},
	} {
		if got, err := ParseService(text); got != want || (err == nil) == (want == Service{}) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestGetFromService(t *testing.T) {
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/incidents":
			fmt.Fprintf(w, "incidents?%s", r.URL.RawQuery)
		case "/locked":
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
		default:
			http.Error(w, "404 page not found\nreally", http.StatusNotFound)
		}
	})
	plain, secure := httptest.NewServer(backend), httptest.NewTLSServer(backend)
	defer plain.Close()
	defer secure.Close()
	const prefix = "/clusters/a/api/v1/namespaces/"
	s := &apiServer{
		answers: map[string]string{prefix + "a/services/empty:http/proxy/x": status(503, "ServiceUnavailable", `no endpoints available for service "empty"`)},
		backends: map[string]*httptest.Server{
			prefix + "a/services/plain:http/proxy": plain, prefix + "a/services/secure:http/proxy": secure, prefix + "a/services/https:secure:http/proxy": secure,
		},
	}
	c := start(t, s)
	for _, x := range []struct{ service, path, want, fails string }{
		{"a/plain", "/api/v1/incidents", "incidents?namespace=shop", ""},
		{"a/secure", "/api/v1/incidents", "incidents?namespace=shop", ""},
		{"a/plain", "/x", "", "read from service a/plain through the API server: 404 Not Found: 404 page not found"},
		{"a/plain", "/locked", "", "requires a password or a certificate"},
		{"a/secure", "/locked", "", "requires a password or a certificate"},
		{"a/empty", "/x", "", "no endpoints available"},
		{"b/plain", "/x", "", "is forbidden (grant the verb get on the resource services/proxy in the namespace b)"},
	} {
		service, err := ParseService(x.service)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.GetFromService(t.Context(), service, x.path, url.Values{"namespace": {"shop"}})
		if string(got) != x.want || (err == nil) != (x.fails == "") || err != nil && !strings.Contains(err.Error(), x.fails) {
			t.Errorf("%s%s: got %q, %v, want %q, %q", x.service, x.path, got, err, x.want, x.fails)
		}
	}
	if want := prefix + "a/services/https:secure:http/proxy/api/v1/incidents?namespace=shop"; !slices.Contains(s.asked, want) {
		t.Errorf("asked for %q, not for %s", s.asked, want)
	}
}

// TestNoOtherServerGetsTheToken has a Service whose pods redirect to a server of their own. client-go would send the token of
// the user to it.
func TestNoOtherServerGetsTheToken(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" with "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/nodes":
			http.Redirect(w, r, "/login", http.StatusFound)
		case "/login":
			fmt.Fprint(w, "<html>")
		default:
			http.Redirect(w, r, other.URL, http.StatusFound)
		}
	}))
	t.Cleanup(api.Close)
	c, err := New(&rest.Config{Host: api.URL, BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.GetFromService(t.Context(), Service{"shop", "kubeflap", "http"}, "/api/v1/incidents", nil)
	if want := " answers 302 Found "; len(got) > 0 || err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the other server got %q; the error is %v, want %q", got, err, want)
	}
	_, err = c.Resources("")[0].CurrentVersion(t.Context()) // this redirect stays at the server
	if err == nil || !strings.Contains(err.Error(), "/login answers 200 OK ") {
		t.Errorf("the error is %v", err)
	}
}
