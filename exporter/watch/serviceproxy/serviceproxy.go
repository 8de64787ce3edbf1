// Package serviceproxy finds the Service of a kubeflap and reads from it through the API server's proxy. That needs no port-forward and
// no route to the pods, but the permission to get services/proxy.
package serviceproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	// timeout bounds each request.
	timeout = 30 * time.Second
	// limit bounds an answer. The incidents of the largest clusters are far smaller.
	limit = 1 << 28
)

// Client makes requests to an API server.
type Client struct {
	http *http.Client
	base *url.URL
}

// New makes a Client for a cluster.
func New(config *rest.Config) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return &Client{client, base}, nil
}

// Get returns what a Service answers to a path with a query. A Service that speaks TLS is asked again with it.
func (c *Client) Get(ctx context.Context, service Service, path string, query url.Values) ([]byte, error) {
	body, err := c.get(ctx, service.path("")+path, query)
	if spoke := (*answerError)(nil); errors.As(err, &spoke) && spoke.wantsTLS() {
		body, err = c.get(ctx, service.path("https")+path, query)
	}
	switch spoke := (*answerError)(nil); {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w (grant the verb get on the resource services/proxy in the namespace %s)", err, service.Namespace)
	case errors.As(err, &spoke) && spoke.code == http.StatusUnauthorized:
		return nil, fmt.Errorf("service %s asks for a password or a certificate, which the API server's proxy does not pass on: use kubectl port-forward and --url with --url.config", service)
	case err != nil:
		return nil, fmt.Errorf("read from service %s through the API server: %w", service, err)
	}
	return body, nil
}

// get makes a request to the API server. Its errors are those of apierrors, or an answerError if something else answered.
func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := c.base.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the API server: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the address
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return body, nil
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" {
		return nil, apierrors.FromObject(&status)
	}
	return nil, &answerError{answer.StatusCode, answer.Status, string(body)}
}

// answerError is an answer that is neither good nor of the API server.
type answerError struct {
	code   int
	status string
	body   string
}

// Error has the first line of the answer.
func (e *answerError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.body), "\n")
	return fmt.Sprintf("%s: %.200s", e.status, line)
}

// wantsTLS reports whether a server with TLS was asked without it (net/http, conn.serve).
func (e *answerError) wantsTLS() bool {
	return e.code == http.StatusBadRequest && strings.Contains(e.body, "HTTP request to an HTTPS server")
}
