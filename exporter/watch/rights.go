package watch

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// judge returns an error that names all that is missing, if anything is that is needed:
// nodes (but not for a namespace alone), pods, services, and one of endpointslices and endpoints.
func (w *Watcher) judge(all []access) error {
	byKind := map[event.Kind]*access{}
	for i := range all {
		byKind[all[i].kind] = &all[i]
	}
	either := ""
	var missing []*access
	needed := []event.Kind{event.KindPod, event.KindService}
	if w.namespace == "" {
		needed = append([]event.Kind{event.KindNode}, needed...)
	}
	for _, kind := range needed {
		if !byKind[kind].granted() {
			missing = append(missing, byKind[kind])
		}
	}
	slices, endpoints := byKind[event.KindEndpointSlice], byKind[event.KindEndpoints]
	if !slices.granted() && !endpoints.granted() {
		missing = append(missing, slices, endpoints)
		either = "; one of endpointslices and endpoints is enough"
	}
	if len(missing) == 0 {
		return nil
	}
	return missingError(missing, either)
}

func missingError(missing []*access, either string) error {
	var texts []string
	user := ""
	for _, a := range missing {
		texts = append(texts, a.explain())
		if user == "" {
			user = refusedUser(a.by)
		}
	}
	text := strings.Join(texts, "; ") + either
	if user != "" {
		text += "; grant it to " + user
	}
	return errors.New(text)
}

// explain says what is missing, in the words of RBAC.
func (a *access) explain() string {
	where := fmt.Sprintf("resource %q, API group %q, %s", a.kind, a.group.Group, a.scope())
	if a.absent {
		return fmt.Sprintf("cannot watch %s (%s): the API server has no such resource", a.kind, where)
	}
	verbs := fmt.Sprintf("verb %q", a.refused[0])
	if len(a.refused) > 1 {
		verbs = fmt.Sprintf("verbs %q and %q", a.refused[0], a.refused[1])
	}
	return fmt.Sprintf("cannot %s %s (%s, %s): forbidden",
		strings.Join(a.refused, " and "), a.kind, verbs, where)
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
