// Package apiclient sends requests to the API server and reads the answers. It knows the resources that kubeflap watches,
// reads their objects as slim ones (exporter/decode), and gives the reason for which a request failed.
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

// Timeout limits a request that is neither a list nor a watch.
const Timeout = 10 * time.Second

// maxReadyz limits what is read of /readyz?verbose, which has one line for each of some dozens of checks.
const maxReadyz = 64 << 10

// Client sends requests to the API server. It has one pool of connections for all API groups.
type Client struct {
	http   *http.Client
	groups map[schema.GroupVersion]rest.Interface
	// controlPlane reads Leases as those of the control plane.
	controlPlane rest.Interface
	params       runtime.ParameterCodec
}

// New makes a Client for a cluster. It logs the warnings of the API server.
func New(config *rest.Config, logger *slog.Logger) (*Client, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = newWarnings(logger)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return contentTypes{transport} })
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	scheme := newScheme()
	c := &Client{http: httpClient, groups: map[schema.GroupVersion]rest.Interface{}, params: runtime.NewParameterCodec(scheme)}
	config.NegotiatedSerializer = newCodecs(scheme, event.KindLease)
	// client-go asks for JSON by default. All resources have protobuf, but some proxies and servers answer in JSON.
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// No limit: each resource has one request at a time, and the server can throttle by itself.
	config.QPS = -1
	for _, group := range []schema.GroupVersion{core, discovery, coordination} {
		config.GroupVersion, config.APIPath = &group, "/apis"
		if group.Group == "" {
			config.APIPath = "/api"
		}
		if c.groups[group], err = rest.RESTClientForConfigAndClient(config, httpClient); err != nil {
			return nil, fmt.Errorf("make a client for %s: %w", group, err)
		}
	}
	config.GroupVersion, config.APIPath = &coordination, "/apis"
	config.NegotiatedSerializer = newCodecs(scheme, event.KindControlPlaneLease)
	if c.controlPlane, err = rest.RESTClientForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("make a client for the Leases of the control plane: %w", err)
	}
	return c, nil
}

// newScheme registers Status and ListOptions, which every group has. client-go's clientset registers the types of all
// groups, which would be a sixth of the binary. exporter/decode needs none of them.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, group := range []schema.GroupVersion{core, discovery, coordination} {
		metav1.AddToGroupVersion(scheme, group)
	}
	return scheme
}

// newCodecs makes codecs that read a Lease as an object of the kind lease.
func newCodecs(scheme *runtime.Scheme, lease event.Kind) codecs {
	return codecs{serializer.NewCodecFactory(scheme).WithoutConversion(), lease}
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// Version returns the version of the API server: "v1.36.3".
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

// Readyz returns the text of /readyz?verbose, whatever the HTTP status is. It fails if nothing answers. It does not go
// through client-go, which cuts an error's text at 2,048 bytes (rest.Request, maxUnstructuredResponseTextBytes).
func (c *Client) Readyz(ctx context.Context) ([]byte, error) {
	url := c.groups[core].Get().AbsPath("/readyz").Param("verbose", "").URL()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("get /readyz: %w", err)
	}
	request.Header.Set("Accept", "*/*")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the address
	}
	defer answer.Body.Close()
	// A part of the text is useful, too.
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReadyz))
	return text, nil
}
