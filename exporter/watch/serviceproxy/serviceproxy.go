// Package serviceproxy finds kubeflap's Service and reads from it through the API server's proxy. It needs neither
// kubectl port-forward nor a route to the pods. It requires the permission to get services/proxy.
package serviceproxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

const (
	// timeout is the maximum duration of each request.
	timeout = 30 * time.Second
	// limit is the maximum size of a response in bytes. Even in the largest clusters, responses are far smaller.
	limit = 1 << 28
)

// Client sends requests to an API server.
type Client struct {
	api *apiclient.Client
}

// New returns a Client for a cluster.
func New(config *rest.Config) (*Client, error) {
	api, err := apiclient.New(config)
	if err != nil {
		return nil, err
	}
	return &Client{api}, nil
}

// Get sends a GET request with a path and a query to a Service, and returns the response. It retries with https if the
// Service requires TLS.
func (c *Client) Get(ctx context.Context, service Service, path string, query url.Values) ([]byte, error) {
	body, err := c.get(ctx, service.path("")+path, query)
	if wantsTLS(err) {
		body, err = c.get(ctx, service.path("https")+path, query)
	}
	switch answer := response(err); {
	case isForbidden(err):
		return nil, fmt.Errorf("%w (grant the verb get on the resource services/proxy in the namespace %s)", err, service.Namespace)
	case !answer.FromAPI && answer.Code == http.StatusUnauthorized:
		return nil, fmt.Errorf("service %s requires a password or a certificate, which the API server's proxy does not forward: use kubectl port-forward and --url with --url.config", service)
	case err != nil:
		return nil, fmt.Errorf("read from service %s through the API server: %w", service, err)
	}
	return body, nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.api.Get(ctx, path, query, limit)
}

// response returns the response that caused an error. It is empty if there was no response.
func response(err error) apiclient.ResponseError {
	if answer := (*apiclient.ResponseError)(nil); errors.As(err, &answer) {
		return *answer
	}
	return apiclient.ResponseError{}
}

func isForbidden(err error) bool {
	answer := response(err)
	return answer.FromAPI && answer.Code == http.StatusForbidden
}

// wantsTLS reports whether the response says that a TLS server received a plain HTTP request (net/http, conn.serve).
func wantsTLS(err error) bool {
	return response(err).Code == http.StatusBadRequest && strings.Contains(err.Error(), "HTTP request to an HTTPS server")
}
