package kube

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// judge returns an error that names all that is missing, if anything is that is needed:
// nodes, pods, services, and one of endpointslices and endpoints.
func judge(all []access) error {
	byKind := map[event.Kind]*access{}
	for i := range all {
		byKind[all[i].kind] = &all[i]
	}
	var missing []*access
	for _, kind := range []event.Kind{event.KindNode, event.KindPod, event.KindService} {
		if !byKind[kind].granted() {
			missing = append(missing, byKind[kind])
		}
	}
	slices, endpoints := byKind[event.KindEndpointSlice], byKind[event.KindEndpoints]
	if !slices.granted() && !endpoints.granted() {
		missing = append(missing, slices, endpoints)
	}
	if len(missing) == 0 {
		return nil
	}
	return missingError(missing)
}

func missingError(missing []*access) error {
	var texts []string
	user := ""
	for _, a := range missing {
		texts = append(texts, a.explain())
		if user == "" {
			user = refusedUser(a.by)
		}
	}
	text := strings.Join(texts, "; ")
	if user != "" {
		text += "; grant it to " + user
	}
	return errors.New(text)
}

// explain says what is missing, in the words of RBAC.
func (a *access) explain() string {
	what := fmt.Sprintf("resource %q, API group %q, %s", a.kind, a.group.Group, a.scope())
	if a.absent {
		return fmt.Sprintf("cannot watch %s (%s): the API server has no such resource", a.kind, what)
	}
	texts := make([]string, len(a.refused))
	for i, verb := range a.refused {
		texts[i] = fmt.Sprintf("cannot %s %s (verb %q, %s): forbidden", verb, a.kind, verb, what)
	}
	return strings.Join(texts, "; ")
}

// refusedUser is who the server says was refused: `nodes is forbidden: User
// "system:serviceaccount:monitoring:kubeflap" cannot list resource ...` (apiserver,
// handlers/responsewriters, forbiddenMessage). Empty if it does not say.
func refusedUser(err error) string {
	if err == nil {
		return ""
	}
	if found := regexp.MustCompile(`User "([^"]+)"`).FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return ""
}
