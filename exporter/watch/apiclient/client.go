// Package apiclient sends requests to the API server and decodes the responses with exporter/decode. It defines the
// resources that kubeflap watches, and finds the reason for each error. It also reads from a running kubeflap, through the
// API server's proxy.
package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// Timeout is the maximum duration of short requests. Lists and watches may take longer.
const Timeout = 10 * time.Second

const (
	// maxAnswer is the maximum size of a response in bytes. Even in the largest clusters, responses are far smaller.
	maxAnswer = 1 << 28
	// maxText is the maximum number of bytes to read of a text. /readyz?verbose has a few dozen lines, one for each check.
	maxText = 64 << 10
)

// Media types. All resources support protobuf. Other paths of the API, and the errors of some proxies, are in JSON.
const (
	protobuf  = "application/vnd.kubernetes.protobuf"
	anyFormat = "*/*"
)

// Client sends requests to the API server. It does not limit its rate, because the server can throttle it.
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
	base.Path = strings.TrimSuffix(base.Path, "/") + "/" // the API of some clusters is under a path on a shared host
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	return &Client{&http.Client{Transport: transport, CheckRedirect: stay}, base}, nil
}

// maxRedirects is the maximum number of redirects of a request.
const maxRedirects = 10

// stay lets a client follow only redirects to the same server. The transport would send the user's credentials to any other
// server, too, and the pods of a Service can redirect to one of their own.
func stay(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if len(before) > maxRedirects || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// send sends a GET request. The caller must close the body.
func (c *Client) send(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	address := c.base.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("create a request: %w", err)
	}
	request.Header.Set("Accept", accept)
	if accept == protobuf {
		// Servers compress lists on request, which takes more CPU time than everything else.
		request.Header.Set("Accept-Encoding", "identity")
	}
	return c.http.Do(request) //nolint:wrapcheck // the error names the address
}

// open sends a GET request, and returns the body of the response. It returns an error if the status is not 200, or if
// the content type is not the accepted one.
func (c *Client) open(ctx context.Context, path string, query url.Values, accept string) (io.ReadCloser, error) {
	answer, err := c.send(ctx, path, query, accept)
	if err != nil {
		return nil, err
	}
	if err := errorOf(answer, accept); err != nil {
		_ = answer.Body.Close() // nothing more is read
		return nil, err
	}
	return answer.Body, nil
}

// get sends a GET request, and returns at most maxAnswer bytes of the response in any format.
func (c *Client) get(ctx context.Context, timeout time.Duration, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := c.open(ctx, path, query, anyFormat)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return text, nil
}

// getJSON sends a GET request, and decodes the response.
func (c *Client) getJSON(ctx context.Context, path string, query url.Values, into any) error {
	text, err := c.get(ctx, Timeout, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

// Version returns the API server's version, such as "v1.36.3".
func (c *Client) Version(ctx context.Context) (string, error) {
	var info version.Info
	if err := c.getJSON(ctx, "version", nil, &info); err != nil {
		return "", fmt.Errorf("get /version: %w", err)
	}
	return info.GitVersion, nil
}

// ClusterUID returns the UID of the namespace kube-system, which exists as long as the cluster. It is a convention to
// identify a cluster by this UID.
func (c *Client) ClusterUID(ctx context.Context) (string, error) {
	var namespace metav1.PartialObjectMetadata
	if err := c.getJSON(ctx, "api/v1/namespaces/"+metav1.NamespaceSystem, nil, &namespace); err != nil {
		return "", fmt.Errorf("get the namespace kube-system: %w", err)
	}
	if namespace.UID == "" {
		return "", fmt.Errorf("%w: the namespace kube-system has no UID", errUnreadable)
	}
	return string(namespace.UID), nil
}

// Readyz returns the text of /readyz?verbose for any HTTP status. It fails if there is no response.
func (c *Client) Readyz(ctx context.Context) ([]byte, error) {
	answer, err := c.send(ctx, "readyz", url.Values{"verbose": {""}}, anyFormat)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	// Part of the text is better than none, so read errors are ignored.
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxText))
	return text, nil
}
