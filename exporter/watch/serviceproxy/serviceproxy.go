// Package serviceproxy finds kubeflap's Service and reads from it through the API server's proxy. It needs neither
// kubectl port-forward nor a route to the pods. It requires the permission to get services/proxy.
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
	// timeout is the maximum duration of each request.
	timeout = 30 * time.Second
	// limit is the maximum size of a response in bytes. Even in the largest clusters, responses are far smaller.
	limit = 1 << 28
)

// Client sends requests to an API server.
type Client struct {
	http *http.Client
	base *url.URL
}

// New returns a Client for a cluster.
func New(config *rest.Config) (*Client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	return &Client{client, base}, nil
}

// Get sends a GET request with a path and a query to a Service, and returns the response. It retries with https if the
// Service requires TLS.
func (c *Client) Get(ctx context.Context, service Service, path string, query url.Values) ([]byte, error) {
	body, err := c.get(ctx, service.path("")+path, query)
	if spoke := (*answerError)(nil); errors.As(err, &spoke) && spoke.wantsTLS() {
		body, err = c.get(ctx, service.path("https")+path, query)
	}
	switch spoke := (*answerError)(nil); {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w (grant the verb get on the resource services/proxy in the namespace %s)", err, service.Namespace)
	case errors.As(err, &spoke) && spoke.code == http.StatusUnauthorized:
		return nil, fmt.Errorf("service %s requires a password or a certificate, which the API server's proxy does not forward: use kubectl port-forward and --url with --url.config", service)
	case err != nil:
		return nil, fmt.Errorf("read from service %s through the API server: %w", service, err)
	}
	return body, nil
}

// get sends a request to the API server. For an error response from the API server, it returns an error of package
// apierrors. For an error response from another server, it returns an answerError.
func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := c.base.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("query the API server: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names the address
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
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

// answerError is an error response that did not come from the API server.
type answerError struct {
	code   int
	status string
	body   string
}

// Error returns the status and the first line of the response.
func (e *answerError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.body), "\n")
	return fmt.Sprintf("%s: %.200s", e.status, line)
}

// wantsTLS reports whether the response says that a TLS server received a plain HTTP request (net/http, conn.serve).
func (e *answerError) wantsTLS() bool {
	return e.code == http.StatusBadRequest && strings.Contains(e.body, "HTTP request to an HTTPS server")
}
