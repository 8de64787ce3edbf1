package watch

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// missing returns an error that lists every required permission that was not granted, or nil if there is none. kubeflap
// requires permission to list and watch Pods, Services, and either EndpointSlices or Endpoints. The permission for
// Nodes is also required unless nodesOptional is set.
func missing(all []access, nodesOptional bool) error {
	byKind := map[event.Kind]*access{}
	for i := range all {
		byKind[all[i].Kind] = &all[i]
	}
	needed := []event.Kind{event.KindPod, event.KindService}
	if !nodesOptional {
		needed = append([]event.Kind{event.KindNode}, needed...)
	}
	var lacking []*access
	for _, kind := range needed {
		if !byKind[kind].granted() {
			lacking = append(lacking, byKind[kind])
		}
	}
	either := ""
	slices, endpoints := byKind[event.KindEndpointSlice], byKind[event.KindEndpoints]
	if !slices.granted() && !endpoints.granted() {
		lacking = append(lacking, slices, endpoints)
		either = "; one of endpointslices and endpoints is enough"
	}
	if len(lacking) == 0 {
		return nil
	}
	return missingError(lacking, either, !nodesOptional)
}

func missingError(lacking []*access, either string, clusterWide bool) error {
	var texts []string
	user := ""
	for _, a := range lacking {
		texts = append(texts, a.explain())
		if user == "" {
			user = refusedUser(a.refusal)
		}
	}
	text := strings.Join(texts, "; ") + either
	if user != "" {
		text += "; grant the permission to " + user
	}
	if clusterWide {
		text += "; if you only have permissions in one namespace, use --namespace"
	}
	return errors.New(text)
}

// explain describes the missing permission, in RBAC terms.
func (a *access) explain() string {
	where := fmt.Sprintf("resource %q, API group %q, %s", a.Name, a.Group, a.Scope())
	if a.absent {
		return fmt.Sprintf("cannot watch %s (%s): the API server has no such resource", a.Kind, where)
	}
	verbs := fmt.Sprintf("verb %q", a.refused[0])
	if len(a.refused) > 1 {
		verbs = fmt.Sprintf("verbs %q and %q", a.refused[0], a.refused[1])
	}
	return fmt.Sprintf("cannot %s %s (%s, %s): forbidden", strings.Join(a.refused, " and "), a.Kind, verbs, where)
}

// refusedUser returns the user that the server rejected, or "" if the error does not name the user. Example of an error
// that names the user: `nodes is forbidden: User "system:serviceaccount:monitoring:kubeflap" cannot list resource ...`
// (apiserver, handlers/responsewriters, forbiddenMessage).
func refusedUser(err error) string {
	if err == nil {
		return ""
	}
	if found := regexp.MustCompile(`User "([^"]+)"`).FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return ""
}
