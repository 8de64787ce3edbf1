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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// label selects the Service of kubeflap, as the chart labels it.
	label = "app.kubernetes.io/name=kubeflap"
	// portName is the port's name in the chart.
	portName = "http"
)

// ErrNoService means that no Service of kubeflap was found.
var ErrNoService = errors.New("no Service")

// Service is a Service and one of its ports, by name or number.
type Service struct{ Namespace, Name, Port string }

// String is how users write the Service.
func (s Service) String() string {
	if s.Port == portName {
		return s.Namespace + "/" + s.Name
	}
	return s.Namespace + "/" + s.Name + ":" + s.Port
}

// path is that of the proxy, which speaks plain HTTP to the Service unless the scheme is https.
func (s Service) path(scheme string) string {
	name := s.Name + ":" + s.Port
	if scheme != "" {
		name = scheme + ":" + name
	}
	return "api/v1/namespaces/" + s.Namespace + "/services/" + name + "/proxy"
}

// Parse reads NAMESPACE/NAME or NAMESPACE/NAME:PORT. Without a port it is the one of the chart.
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

// Find finds the Service of kubeflap by its label in all namespaces. If the user may not list that many, it looks into the namespaces that
// are given.
func (c *Client) Find(ctx context.Context, namespaces ...string) (Service, error) {
	where := "any namespace"
	found, err := c.list(ctx, "api/v1/services")
	if apierrors.IsForbidden(err) {
		namespaces = slices.Compact(slices.Sorted(slices.Values(namespaces)))
		where = "the namespace " + strings.Join(namespaces, " or ") + " (you may not list all)"
		found, err = c.listEach(ctx, namespaces)
	}
	if err != nil {
		return Service{}, err
	}
	var names []string
	for _, s := range found {
		names = append(names, s.String())
	}
	switch len(found) {
	case 0:
		return Service{}, fmt.Errorf("%w with the label %s in %s: name it with --service=NAMESPACE/NAME, or use --url", ErrNoService, label, where)
	case 1:
		return found[0], nil
	}
	return Service{}, fmt.Errorf("several kubeflaps run: choose one with --service: %s", strings.Join(names, ", "))
}

// listEach lists the namespaces that may be listed. It fails if none may.
func (c *Client) listEach(ctx context.Context, namespaces []string) ([]Service, error) {
	var all []Service
	var forbidden error
	listed := false
	for _, namespace := range namespaces {
		found, err := c.list(ctx, "api/v1/namespaces/"+namespace+"/services")
		switch {
		case apierrors.IsForbidden(err):
			forbidden = err
		case err != nil:
			return nil, err
		default:
			listed, all = true, append(all, found...)
		}
	}
	if !listed {
		return nil, fmt.Errorf("cannot look for the Service of kubeflap: %w: name it with --service=NAMESPACE/NAME, which needs only get on services/proxy", forbidden)
	}
	return all, nil
}

// list returns the Services of kubeflap at a path of the API.
func (c *Client) list(ctx context.Context, path string) ([]Service, error) {
	body, err := c.get(ctx, path, url.Values{"labelSelector": {label}})
	if err != nil {
		return nil, fmt.Errorf("look for the Service of kubeflap: %w", err)
	}
	var list struct {
		Kind  string
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ Ports []port }
		}
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Kind != "ServiceList" {
		return nil, errors.Join(errors.New("look for the Service of kubeflap: something else than the Kubernetes API answers"), err)
	}
	var all []Service
	for _, item := range list.Items {
		s := Service{Namespace: item.Metadata.Namespace, Name: item.Metadata.Name, Port: portName}
		// The chart names the port. Of another manifest, the first one is as good a guess as any.
		if ports := item.Spec.Ports; len(ports) > 0 && !slices.ContainsFunc(ports, func(p port) bool { return p.Name == portName }) {
			s.Port = strconv.Itoa(ports[0].Port)
		}
		all = append(all, s)
	}
	return all, nil
}

// port is a port of a Service in the API.
type port struct {
	Name string
	Port int
}
