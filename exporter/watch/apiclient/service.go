package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// serviceLabel is the label selector for kubeflap's Service. The chart sets this label.
	serviceLabel = "app.kubernetes.io/name=kubeflap"
	// servicePort is the name of the Service's port in the chart.
	servicePort = "http"
	// serviceTimeout is the maximum duration of a request to a Service.
	serviceTimeout = 30 * time.Second
)

// ErrNoService means that kubeflap's Service was not found.
var ErrNoService = errors.New("no Service")

// Service identifies a kubeflap Service and one of its ports. Port is the name or the number of the port.
type Service struct{ Namespace, Name, Port string }

// String returns the Service in the form that ParseService accepts.
func (s Service) String() string {
	if s.Port == servicePort {
		return s.Namespace + "/" + s.Name
	}
	return s.Namespace + "/" + s.Name + ":" + s.Port
}

// path returns the URL path at which the API server's proxy forwards requests to the Service. The proxy uses plain HTTP
// unless scheme is "https".
func (s Service) path(scheme string) string {
	name := s.Name + ":" + s.Port
	if scheme != "" {
		name = scheme + ":" + name
	}
	return "api/v1/namespaces/" + s.Namespace + "/services/" + name + "/proxy"
}

// ParseService parses NAMESPACE/NAME or NAMESPACE/NAME:PORT. Without PORT, it uses the port name of the chart.
func ParseService(text string) (Service, error) {
	namespace, rest, found := strings.Cut(text, "/")
	name, port, ported := strings.Cut(rest, ":")
	if !ported {
		port = servicePort
	}
	_, notNumber := strconv.ParseUint(port, 10, 16)
	if !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 ||
		notNumber != nil && len(validation.IsValidPortName(port)) > 0 {
		return Service{}, fmt.Errorf("%q is not NAMESPACE/NAME or NAMESPACE/NAME:PORT", text)
	}
	return Service{namespace, name, port}, nil
}

// FindService finds kubeflap's Service by its label in all namespaces. If the user is not allowed to list the Services of all
// namespaces, FindService searches only those of the given namespaces that may be listed.
func (c *Client) FindService(ctx context.Context, namespaces ...string) (Service, error) {
	where := "any namespace"
	found, err := c.listServices(ctx, "api/v1/services")
	if isForbidden(err) {
		var listed []string
		for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
			var some []Service
			if some, err = c.listServices(ctx, "api/v1/namespaces/"+namespace+"/services"); err == nil {
				found, listed = append(found, some...), append(listed, namespace)
			} else if !isForbidden(err) {
				break
			}
		}
		switch {
		case isForbidden(err) && listed == nil:
			err = fmt.Errorf("%w. Use --service=NAMESPACE/NAME, which only requires permission to get services/proxy", err)
		case isForbidden(err):
			err = nil
		}
		where = "the namespace " + strings.Join(listed, " or ") + " (you may not list all namespaces)"
	}
	if err != nil {
		return Service{}, fmt.Errorf("cannot find kubeflap's Service: %w", err)
	}
	switch len(found) {
	case 0:
		return Service{}, fmt.Errorf("found %w with the label %s in %s: specify kubeflap's Service with --service=NAMESPACE/NAME, or use --url", ErrNoService, serviceLabel, where)
	case 1:
		return found[0], nil
	}
	return Service{}, fmt.Errorf("there are several kubeflap Services; choose one with --service: %s", strings.Trim(fmt.Sprint(found), "[]"))
}

// listServices returns kubeflap's Services at a path of the API.
func (c *Client) listServices(ctx context.Context, path string) (all []Service, err error) {
	type port struct {
		Name string
		Port int
	}
	var list struct {
		Kind  string
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ Ports []port }
		}
	}
	if err := c.getJSON(ctx, path, url.Values{"labelSelector": {serviceLabel}}, &list); err != nil {
		return nil, err
	}
	if list.Kind != "ServiceList" {
		return nil, errors.New("the server is not a Kubernetes API server")
	}
	for _, item := range list.Items {
		s := Service{Namespace: item.Metadata.Namespace, Name: item.Metadata.Name, Port: servicePort}
		// If no port has the name that the chart sets, use the first port.
		if ports := item.Spec.Ports; len(ports) > 0 && !slices.ContainsFunc(ports, func(p port) bool { return p.Name == servicePort }) {
			s.Port = strconv.Itoa(ports[0].Port)
		}
		all = append(all, s)
	}
	return all, nil
}

// GetFromService sends a GET request with a path and a query to a Service through the API server's proxy, and returns the
// response. It needs neither kubectl port-forward nor a route to the pods. It requires the permission to get
// services/proxy. It retries with https if the Service requires TLS.
func (c *Client) GetFromService(ctx context.Context, service Service, path string, query url.Values) ([]byte, error) {
	body, err := c.get(ctx, serviceTimeout, service.path("")+path, query)
	if wantsTLS(err) {
		body, err = c.get(ctx, serviceTimeout, service.path("https")+path, query)
	}
	switch answer := errorIn(err); {
	case isForbidden(err):
		return nil, fmt.Errorf("%w (grant the verb get on the resource services/proxy in the namespace %s)", err, service.Namespace)
	case !answer.fromAPI && answer.code == http.StatusUnauthorized:
		return nil, fmt.Errorf("service %s requires a password or a certificate, which the API server's proxy does not forward: use kubectl port-forward and --url with --url.config", service)
	case err != nil:
		return nil, fmt.Errorf("read from service %s through the API server: %w", service, err)
	}
	return body, nil
}

func isForbidden(err error) bool {
	answer := errorIn(err)
	return answer.fromAPI && answer.code == http.StatusForbidden
}

// wantsTLS reports whether the response says that a TLS server received a plain HTTP request (net/http, conn.serve).
func wantsTLS(err error) bool {
	return errorIn(err).code == http.StatusBadRequest && strings.Contains(err.Error(), "HTTP request to an HTTPS server")
}
