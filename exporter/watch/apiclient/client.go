// Package apiclient sends requests to the API server and decodes the responses with exporter/decode. It defines the
// resources that kubeflap watches, and finds the reason for each error.
package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Timeout is the maximum duration of short requests. Lists and watches may take longer.
const Timeout = 10 * time.Second

// maxReadyz is the maximum number of bytes to read from /readyz?verbose. The text has a few dozen lines, one for each
// check.
const maxReadyz = 64 << 10

// Client sends requests to the API server. All API groups share one connection pool.
type Client struct {
	http   *http.Client
	groups map[schema.GroupVersion]rest.Interface
	// controlPlane is the client for control-plane Leases. The clients in the map groups decode all Leases as node
	// Leases.
	controlPlane rest.Interface
	params       runtime.ParameterCodec
}

// New returns a Client for a cluster. The Client logs warnings that the API server sends.
func New(config *rest.Config, logger *slog.Logger) (*Client, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = newWarnings(logger)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return contentTypes{transport} })
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API server: %w", err)
	}
	scheme := newScheme()
	c := &Client{http: httpClient, groups: map[schema.GroupVersion]rest.Interface{}, params: runtime.NewParameterCodec(scheme)}
	config.NegotiatedSerializer = newCodecs(scheme, event.KindLease)
	// By default, client-go requests JSON.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	// The client does not limit its rate, because the server can throttle it.
	config.QPS = -1
	for _, group := range []schema.GroupVersion{core, discovery, coordination} {
		config.GroupVersion, config.APIPath = &group, "/apis"
		if group.Group == "" {
			config.APIPath = "/api"
		}
		if c.groups[group], err = rest.RESTClientForConfigAndClient(config, httpClient); err != nil {
			return nil, fmt.Errorf("create a client for %s: %w", group, err)
		}
	}
	config.GroupVersion, config.APIPath = &coordination, "/apis"
	config.NegotiatedSerializer = newCodecs(scheme, event.KindControlPlaneLease)
	if c.controlPlane, err = rest.RESTClientForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("create a client for the Leases of the control plane: %w", err)
	}
	return c, nil
}

// newScheme registers only Status and ListOptions, which all groups use. exporter/decode needs no other types.
// client-go's clientset would register the types of all API groups. These types would take up a sixth of the binary.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, group := range []schema.GroupVersion{core, discovery, coordination} {
		metav1.AddToGroupVersion(scheme, group)
	}
	return scheme
}

// newCodecs returns codecs for all resources. Leases are decoded into objects of the given kind.
func newCodecs(scheme *runtime.Scheme, lease event.Kind) codecs {
	return codecs{serializer.NewCodecFactory(scheme).WithoutConversion(), lease}
}

// CloseIdleConnections closes idle connections.
func (c *Client) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// Version returns the API server's version, such as "v1.36.3".
func (c *Client) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	raw, err := c.groups[core].Get().AbsPath("/version").SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("get /version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", fmt.Errorf("read /version: %w", err)
	}
	return info.GitVersion, nil
}

// Readyz returns the text of /readyz?verbose for any HTTP status. It fails if there is no response. It does not use
// client-go, which truncates error texts at 2,048 bytes (rest.Request, maxUnstructuredResponseTextBytes).
func (c *Client) Readyz(ctx context.Context) ([]byte, error) {
	url := c.groups[core].Get().AbsPath("/readyz").Param("verbose", "").URL()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("get /readyz: %w", err)
	}
	request.Header.Set("Accept", "*/*")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names the address
	}
	defer answer.Body.Close()
	// Part of the text is better than none, so read errors are ignored.
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReadyz))
	return text, nil
}
