// Package proxy stands between kubeflap and the API server and lets what happens to watches on their way
// happen: some are late, some are silent, some end at once. All else goes through as it is.
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
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Proxy is an HTTPS server in front of the API server, with the faults it was told.
type Proxy struct {
	// URL is where it listens.
	URL string

	certificate certificate
	server      *http.Server
	forward     *httputil.ReverseProxy
	faults      faults
}

// Start serves what the API server of config would, at address, until Stop.
func Start(config *rest.Config, address string) (*Proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("trust the API server: %w", err)
	}
	own, err := newCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := tls.Listen("tcp", address, &tls.Config{
		Certificates: []tls.Certificate{own.pair}, NextProtos: []string{"h2", "http/1.1"},
	})
	if err != nil {
		return nil, fmt.Errorf("listen for kubeflap: %w", err)
	}
	p := &Proxy{URL: "https://" + listener.Addr().String(), certificate: own, faults: newFaults()}
	silent := log.New(io.Discard, "", 0) // connections that break are what it is for
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// Bytes go through as they come, compressed or not.
		Transport:      &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true, DisableCompression: true},
		FlushInterval:  -1,
		ModifyResponse: p.holdWatch,
		// To the client it looks as if there were no proxy: the connection breaks.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     silent,
	}
	p.server = &http.Server{Handler: p, ErrorLog: silent}
	go func() { _ = p.server.Serve(listener) }() // returns when the server is closed
	return p, nil
}

// Stop breaks all connections.
func (p *Proxy) Stop() { _ = p.server.Close() }

// Kubeconfig writes to the file a copy of a kubeconfig that leads through the proxy, with the same rights.
func (p *Proxy) Kubeconfig(from, to string) error {
	config, err := clientcmd.LoadFromFile(from)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = p.URL, "", p.certificate.pem
	}
	if err := clientcmd.WriteToFile(*config, to); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// ServeHTTP holds what is frozen, and answers in the API server's place if it was told to.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, watch := parse(r.URL)
	if err := p.faults.admit(r.Context(), resource, watch); err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	if status := p.faults.answer(); status != 0 {
		http.Error(w, strconv.Itoa(status)+" "+http.StatusText(status), status)
		return
	}
	p.forward.ServeHTTP(w, r)
}

// holdWatch puts the faults between the API server's watch and the client's.
func (p *Proxy) holdWatch(response *http.Response) error {
	resource, watch := parse(response.Request.URL)
	if watch && response.StatusCode == http.StatusOK {
		response.Body = newStream(response.Request.Context(), response.Body, p.faults.open(resource))
	}
	return nil
}

// parse finds the resource that a request is for, and whether it watches.
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

// Delay lets what the watches of the resources bring be late by so much, in its order.
func (p *Proxy) Delay(by time.Duration, resources ...string) {
	p.faults.change(func(f *faults) {
		for _, r := range resources {
			f.delays[r] = by
		}
	})
}

// Freeze silences the open watches of the resources, and what else the extent says, until Thaw.
func (p *Proxy) Freeze(extent Extent, resources ...string) {
	p.faults.change(func(f *faults) {
		for _, r := range resources {
			f.frozen[r] = freeze{extent, f.opened}
		}
	})
}

// Thaw lets everything go on that is frozen. What the API server has sent in the meantime comes at once.
func (p *Proxy) Thaw() { p.faults.change(func(f *faults) { clear(f.frozen) }) }

// Answer ends all watches and gives every request this status in the API server's place; 0 lets the server answer again.
func (p *Proxy) Answer(status int) {
	p.faults.change(func(f *faults) {
		f.status = status
		f.ended = f.opened
	})
}

// EndWatches ends all watches, and each new one right after it was opened, until it is told not to.
func (p *Proxy) EndWatches(ending bool) {
	p.faults.change(func(f *faults) {
		f.ending = ending
		f.ended = f.opened
	})
}
