package serviceproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// label is the label selector for kubeflap's Service. The chart sets this label.
	label = "app.kubernetes.io/name=kubeflap"
	// portName is the name of the Service's port in the chart.
	portName = "http"
)

// ErrNoService means that kubeflap's Service was not found.
var ErrNoService = errors.New("no Service")

// Service identifies a Service and one of its ports. Port is the name or the number of the port.
type Service struct{ Namespace, Name, Port string }

// String returns the Service in the form that Parse accepts.
func (s Service) String() string {
	if s.Port == portName {
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

// Parse parses NAMESPACE/NAME or NAMESPACE/NAME:PORT. Without PORT, it uses the port name of the chart.
func Parse(text string) (Service, error) {
	namespace, rest, found := strings.Cut(text, "/")
	name, port, ported := strings.Cut(rest, ":")
	if !ported {
		port = portName
	}
	_, notNumber := strconv.ParseUint(port, 10, 16)
	if !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 ||
		notNumber != nil && len(validation.IsValidPortName(port)) > 0 {
		return Service{}, fmt.Errorf("%q is not NAMESPACE/NAME or NAMESPACE/NAME:PORT", text)
	}
	return Service{namespace, name, port}, nil
}

// Find finds kubeflap's Service by its label in all namespaces. If the user is not allowed to list the Services of all
// namespaces, Find searches only the given namespaces.
func (c *Client) Find(ctx context.Context, namespaces ...string) (Service, error) {
	where := "any namespace"
	found, err := c.list(ctx, "api/v1/services")
	if isForbidden(err) {
		namespaces = slices.Compact(slices.Sorted(slices.Values(namespaces)))
		where = "the namespace " + strings.Join(namespaces, " or ") + " (you may not list all namespaces)"
		found, err = c.listEach(ctx, namespaces)
	}
	if err != nil {
		return Service{}, fmt.Errorf("cannot find kubeflap's Service: %w", err)
	}
	var names []string
	for _, s := range found {
		names = append(names, s.String())
	}
	switch len(found) {
	case 0:
		return Service{}, fmt.Errorf("found %w with the label %s in %s: specify kubeflap's Service with --service=NAMESPACE/NAME, or use --url", ErrNoService, label, where)
	case 1:
		return found[0], nil
	}
	return Service{}, fmt.Errorf("there are several kubeflap Services; choose one with --service: %s", strings.Join(names, ", "))
}

// listEach lists kubeflap's Services in the given namespaces. It skips namespaces in which the user is not allowed to
// list Services. It returns an error if it skips all namespaces.
func (c *Client) listEach(ctx context.Context, namespaces []string) ([]Service, error) {
	var all []Service
	var forbidden error
	listed := false
	for _, namespace := range namespaces {
		found, err := c.list(ctx, "api/v1/namespaces/"+namespace+"/services")
		switch {
		case isForbidden(err):
			forbidden = err
		case err != nil:
			return nil, err
		default:
			listed, all = true, append(all, found...)
		}
	}
	if !listed {
		return nil, fmt.Errorf("%w. Use --service=NAMESPACE/NAME, which only requires permission to get services/proxy", forbidden)
	}
	return all, nil
}

// list returns kubeflap's Services at a path of the API.
func (c *Client) list(ctx context.Context, path string) ([]Service, error) {
	body, err := c.get(ctx, path, url.Values{"labelSelector": {label}})
	if err != nil {
		return nil, err
	}
	var list struct {
		Kind  string
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ Ports []port }
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Kind != "ServiceList" {
		return nil, errors.Join(errors.New("the server is not a Kubernetes API server"), err)
	}
	var all []Service
	for _, item := range list.Items {
		s := Service{Namespace: item.Metadata.Namespace, Name: item.Metadata.Name, Port: portName}
		// If no port has the name that the chart sets, use the first port.
		if ports := item.Spec.Ports; len(ports) > 0 && !slices.ContainsFunc(ports, func(p port) bool { return p.Name == portName }) {
			s.Port = strconv.Itoa(ports[0].Port)
		}
		all = append(all, s)
	}
	return all, nil
}

type port struct {
	Name string
	Port int
}
