// Package proxy implements a proxy that injects faults into the connection to the API server. It can freeze and end watches,
// and answer requests with an error.
package proxy

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

// Proxy is an HTTPS server in front of the API server. It injects faults.
type Proxy struct {
	// URL is the URL on which the proxy listens.
	URL string

	// certificate is in PEM format. Clients must trust it.
	certificate []byte
	server      *http.Server
	forward     *httputil.ReverseProxy
	faults      faults
}

// Start starts a proxy at the given address, in front of the API server in config.
func Start(config *rest.Config, address string) (*Proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("trust the API server: %w", err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("sign the proxy's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the proxy's certificate: %w", err)
	}
	listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		return nil, fmt.Errorf("listen for kubeflap: %w", err)
	}
	p := &Proxy{URL: "https://" + listener.Addr().String(), certificate: certificate, faults: newFaults()}
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
	return p, nil
}

// Stop closes all connections.
func (p *Proxy) Stop() { _ = p.server.Close() }

// Kubeconfig writes a copy of a kubeconfig. The copy has the same credentials, but uses the proxy.
func (p *Proxy) Kubeconfig(from, to string) error {
	return LeadKubeconfig(from, to, p.URL, p.certificate)
}

// LeadKubeconfig writes a copy of a kubeconfig with another server address. If certificate is not nil, it is the
// certificate of the new server in PEM format.
func LeadKubeconfig(from, to, address string, certificate []byte) error {
	config, err := clientcmd.LoadFromFile(from)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = address
		if certificate != nil {
			cluster.CertificateAuthority, cluster.CertificateAuthorityData = "", certificate
		}
	}
	if err := clientcmd.WriteToFile(*config, to); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// ServeHTTP implements http.Handler. It blocks frozen requests. If Answer has set a status, it responds with that
// status.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, watch := parse(r.URL)
	if err := p.faults.admit(r.Context(), resource, watch); err != nil {
		panic(http.ErrAbortHandler) // the client has closed the connection
	}
	if status := p.faults.answer(); status != 0 {
		http.Error(w, strconv.Itoa(status)+" "+http.StatusText(status), status)
		return
	}
	p.forward.ServeHTTP(w, r)
}

// holdWatch applies the faults to the response of a watch.
func (p *Proxy) holdWatch(response *http.Response) error {
	resource, watch := parse(response.Request.URL)
	if watch && response.StatusCode == http.StatusOK {
		response.Body = newStream(response.Request.Context(), response.Body, p.faults.open(resource))
	}
	return nil
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
	p.faults.change(func(f *faults) {
		for _, r := range resources {
			f.frozen[r] = true
		}
	})
}

// Thaw ends all freezes. Data that the API server sent during a freeze is then delivered.
func (p *Proxy) Thaw() { p.faults.change(func(f *faults) { clear(f.frozen) }) }

// Answer ends all watches, and answers each request with the given status. If status is 0, the proxy forwards requests
// again.
func (p *Proxy) Answer(status int) {
	p.faults.change(func(f *faults) {
		f.status = status
		f.ended = f.opened
	})
}

// EndWatches ends all watches. If `ending` is true, new watches also end immediately, until a later call with `ending`
// set to false.
func (p *Proxy) EndWatches(ending bool) {
	p.faults.change(func(f *faults) {
		f.ending = ending
		f.ended = f.opened
	})
}
