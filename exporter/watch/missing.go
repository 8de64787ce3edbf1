package watch

import (
	"cmp"
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
	lacks := map[event.Kind]bool{}
	for i := range all {
		lacks[all[i].Kind] = !all[i].granted()
	}
	noAddresses := lacks[event.KindEndpointSlice] && lacks[event.KindEndpoints]
	needed := map[event.Kind]bool{
		event.KindNode: !nodesOptional, event.KindPod: true, event.KindService: true,
		event.KindEndpointSlice: noAddresses, event.KindEndpoints: noAddresses,
	}
	var texts []string
	user := ""
	for i := range all {
		if a := &all[i]; needed[a.Kind] && lacks[a.Kind] {
			texts, user = append(texts, a.explain()), cmp.Or(user, refusedUser(a.refusal))
		}
	}
	if texts == nil {
		return nil
	}
	text := strings.Join(texts, "; ")
	if noAddresses {
		text += "; one of endpointslices and endpoints is enough"
	}
	if user != "" {
		text += "; grant the permission to " + user
	}
	if !nodesOptional {
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
