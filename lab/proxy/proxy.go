// Package proxy implements a proxy that injects faults into the connection to the API server. It can freeze and end watches,
// answer requests with an error, and let no data pass at all.
package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Proxy is an HTTPS server in front of the API server. It injects faults.
type Proxy struct {
	// URL is the URL on which the proxy listens.
	URL string

	// certificate is in PEM format. Clients must trust it.
	certificate []byte
	server      *http.Server
	forward     *httputil.ReverseProxy
	// cables holds the connections of all clients.
	cables cables

	mu sync.Mutex
	// gates holds a gate for the watches of each resource that was ever frozen or watched.
	gates map[string]*gate
	// status is the HTTP status with which the proxy answers all requests. If it is 0, the proxy forwards requests.
	status int
	// watching ends all watches that were opened since it began.
	watching context.Context
	end      context.CancelFunc
}

// Start starts a proxy in front of the API server in config.
func Start(config *rest.Config) *Proxy {
	target, trust := steps.Value(url.Parse(config.Host)), steps.Value(rest.TLSConfigFor(config))
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	steps.Must(err)
	pair := steps.Value(tls.X509KeyPair(certificate, key))
	cables := cables{steps.Value(net.Listen("tcp", "127.0.0.1:0")), newGate()}
	listener := tls.NewListener(cables, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}})
	p := &Proxy{URL: "https://" + listener.Addr().String(), certificate: certificate, cables: cables, gates: map[string]*gate{}}
	p.watching, p.end = context.WithCancel(context.Background())
	silent := log.New(io.Discard, "", 0) // broken connections are expected
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// Do not decompress responses, so that the client gets the same bytes as from the API server.
		Transport:      &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true, DisableCompression: true},
		FlushInterval:  -1,
		ModifyResponse: p.holdWatch,
		// If the API server breaks the connection, also break the client's connection.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     silent,
	}
	p.server = &http.Server{Handler: p, ErrorLog: silent}
	go func() { _ = p.server.Serve(listener) }() // returns when the server is closed
	return p
}

// Stop closes all connections.
func (p *Proxy) Stop() {
	_ = p.server.Close()
	p.Mend()
}

// Kubeconfig writes a copy of a kubeconfig. The copy has the same credentials, but uses the proxy.
func (p *Proxy) Kubeconfig(from, to string) {
	config := steps.Value(clientcmd.LoadFromFile(from))
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = p.URL, "", p.certificate
	}
	steps.Must(clientcmd.WriteToFile(*config, to))
}

// Cut stops all traffic, like a network that drops all packets. Open connections become silent, and new connections get
// no response.
func (p *Proxy) Cut() { p.cables.gate.shut() }

// Mend restores all traffic. Data that was sent during the cut is then delivered.
func (p *Proxy) Mend() { p.cables.gate.open() }

// cables accepts connections that can be cut, like network cables.
type cables struct {
	net.Listener
	gate *gate
}

// Accept returns the next connection.
func (c cables) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	return cable{conn, c.gate}, err
}

// cable is a connection. While it is cut, it does not even show that the other side has closed it.
type cable struct {
	net.Conn
	gate *gate
}

// Read waits while the connection is cut.
func (c cable) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	_ = c.gate.pass(context.Background()) // Stop opens it at last
	return n, err
}

// Write waits while the connection is cut.
func (c cable) Write(from []byte) (int, error) {
	_ = c.gate.pass(context.Background())
	return c.Conn.Write(from)
}

// ServeHTTP implements http.Handler. It blocks frozen requests. If Answer has set a status, it responds with that
// status.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if resource, watch := parse(r.URL); watch && p.gate(resource).pass(r.Context()) != nil {
		panic(http.ErrAbortHandler) // the client has closed the connection
	}
	p.mu.Lock()
	status := p.status
	p.mu.Unlock()
	if status != 0 {
		http.Error(w, strconv.Itoa(status)+" "+http.StatusText(status), status)
		return
	}
	p.forward.ServeHTTP(w, r)
}

// holdWatch applies the faults to the response of a watch.
func (p *Proxy) holdWatch(response *http.Response) error {
	resource, watch := parse(response.Request.URL)
	if !watch || response.StatusCode != http.StatusOK {
		return nil
	}
	p.mu.Lock()
	s := &stream{ReadCloser: response.Body, watching: p.watching}
	p.mu.Unlock()
	s.gate = p.gate(resource)
	s.ctx, s.cancel = context.WithCancel(response.Request.Context())
	// End the watch as soon as it must end, even if no event arrives.
	context.AfterFunc(s.watching, func() { _ = s.Close() })
	response.Body = s
	return nil
}

func (p *Proxy) gate(resource string) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gates[resource] == nil {
		p.gates[resource] = newGate()
	}
	return p.gates[resource]
}

// stream is the response body of a watch. The data of the API server waits in the connection during a fault, which has
// room for several MiB.
type stream struct {
	io.ReadCloser
	ctx      context.Context
	cancel   context.CancelFunc
	watching context.Context
	gate     *gate
}

// Read waits until the faults allow data to pass. If the watch must end, the client gets the end of the body.
func (s *stream) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	if s.gate.pass(s.ctx) != nil || s.watching.Err() != nil {
		return 0, io.EOF
	}
	return n, err
}

// Close closes the connection to the API server.
func (s *stream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}

// parse returns the resource of a request, and whether the request is a watch.
func parse(u *url.URL) (resource string, watch bool) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api": // api/v1/...
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis": // apis/group/version/...
		parts = parts[3:]
	default:
		return "", false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	watch, _ = strconv.ParseBool(u.Query().Get("watch"))
	return parts[0], watch
}

// Freeze freezes the watches of the given resources until Thaw is called. Watches that are open get no data, and new
// watches get no response. List and get requests still work.
func (p *Proxy) Freeze(resources ...string) {
	for _, r := range resources {
		p.gate(r).shut()
	}
}

// Thaw ends all freezes. Data that the API server sent during a freeze is then delivered.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.gates {
		g.open()
	}
}

// Answer ends all watches, and answers each request with the given status. If status is 0, the proxy forwards requests
// again.
func (p *Proxy) Answer(status int) {
	p.mu.Lock()
	p.status = status
	p.mu.Unlock()
	p.EndWatches(false)
}

// EndWatches ends all watches. If `ending` is true, new watches also end immediately, until a later call with `ending`
// set to false.
func (p *Proxy) EndWatches(ending bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end(); !ending {
		p.watching, p.end = context.WithCancel(context.Background())
	}
}
