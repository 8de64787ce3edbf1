package watch

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestMissingPermissions(t *testing.T) {
	const hint = `; if you only have permissions in one namespace, use --namespace`
	denied := func(verb, resource string) string {
		return fmt.Sprintf(`%s is forbidden: User "flap" cannot %s resource %q`, resource, verb, resource)
	}
	for _, c := range []struct {
		name, namespace string
		refuse          map[string]int
		want            string
	}{
		{"pods of one namespace", "shop", map[string]int{"list pods": 403}, "cannot list pods: " + denied("list", "pods")},
		{"one verb of one resource", "", map[string]int{"watch nodes": 403}, "cannot watch nodes: " + denied("watch", "nodes") + hint},
		{
			"all that is missing is named", "",
			map[string]int{"list pods": 403, "watch pods": 403, "list services": 403},
			"cannot list and watch pods: " + denied("watch", "pods") + "; cannot list services: " + denied("list", "services") + hint,
		},
		{
			"slices or endpoints are needed", "",
			map[string]int{"list endpoints": 404, "watch endpointslices": 403},
			"cannot watch endpointslices: " + denied("watch", "endpointslices") +
				"; cannot list endpoints: " + denied("list", "endpoints") + "; one of endpointslices and endpoints is enough" + hint,
		},
		{"refused credentials", "", map[string]int{"": 401}, "the API server rejects the credentials: list nodes: " + denied("list", "nodes")},
	} {
		inBubble(t, func(t *testing.T, s *session) {
			s.api.refuse, s.namespace = c.refuse, c.namespace
			s.start()
			if err := <-s.ran; err == nil || err.Error() != c.want {
				t.Errorf("%s: got %v\nwant %s", c.name, err, c.want)
			}
			for _, kind := range event.Kinds() {
				s.want(kind)
			}
		})
	}
}

func TestServerThatHasJustStarted(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.refuse["list nodes"] = 403
		s.start()
		s.api.set(func() { clear(s.api.refuse) })
		time.Sleep(5*time.Second + peekTime) // this is believeAfter
		s.want(event.KindNode, "listing", "synced")
		s.wantLog(0, "WARN", "")
	})
}

func TestOptionalResources(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   event.Kind
		refuse map[string]int
		want   string
		log    string
	}{
		{
			"leases that may not be listed", event.KindLease,
			map[string]int{"list leases": 403},
			"unavailable forbidden",
			`cannot list resource`,
		},
		{
			"leases that may not be watched", event.KindLease,
			map[string]int{"watch leases": 403},
			"unavailable forbidden",
			`cause="watch leases: `,
		},
		{
			"a cluster of v1.20 without slices", event.KindEndpointSlice,
			map[string]int{"list endpointslices": 404},
			"unavailable absent",
			`cause="list endpointslices: `,
		},
		{
			"no endpoints", event.KindEndpoints,
			map[string]int{"list endpoints": 403, "watch endpoints": 403},
			"unavailable forbidden",
			`list and watch endpoints`,
		},
		{
			"no leases of the control plane", event.KindControlPlaneLease,
			map[string]int{"list controlplaneleases": 403, "watch controlplaneleases": 403},
			"unavailable forbidden",
			`list and watch controlplaneleases`,
		},
		{
			"Deployments that may not be listed", event.KindDeployment,
			map[string]int{"list deployments": 403},
			"unavailable forbidden",
			`cause="list deployments: `,
		},
		{
			"an API server without StatefulSets", event.KindStatefulSet,
			map[string]int{"list statefulsets": 404},
			"unavailable absent",
			`cause="list statefulsets: `,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, s *session) {
				s.api.refuse = c.refuse
				s.start()
				s.want(event.KindPod, "listing", "synced")
				s.want(c.kind, c.want)
				s.wantLog(1, "WARN", c.log)

				time.Sleep(10 * time.Minute)
				s.want(c.kind)
				s.wantLog(1, "WARN", "")

				s.api.set(func() { clear(s.api.refuse) })
				time.Sleep(recheck + peekTime)
				s.want(c.kind, "listing", "synced")
				s.wantLog(1, "INFO", "can watch now\" resource="+c.kind.String())
			})
		})
	}
}

func TestOneNamespaceNeedsNoPermissionInTheCluster(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.namespace = "shop"
		s.api.refuse = map[string]int{"list nodes": 403, "watch nodes": 403, "list leases": 403, "watch leases": 403}
		s.start()
		for _, kind := range []event.Kind{event.KindPod, event.KindService, event.KindEndpointSlice, event.KindEndpoints, event.KindDeployment, event.KindStatefulSet} {
			s.want(kind, "listing", "synced")
		}
		s.want(event.KindNode, "unavailable forbidden")
		s.want(event.KindLease, "unavailable forbidden")
		s.want(event.KindControlPlaneLease)
		s.api.set(func() {
			for resource, want := range map[string]string{
				"pods": "/api/v1/namespaces/shop/pods", "services": "/api/v1/namespaces/shop/services",
				"endpointslices": "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
				"endpoints":      "/api/v1/namespaces/shop/endpoints", "nodes": "/api/v1/nodes",
				"leases":             "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
				"controlplaneleases": "", "deployments": "/apis/apps/v1/namespaces/shop/deployments",
			} {
				if got := s.api.paths[resource]; got != want {
					t.Errorf("%s were asked for at %s, want %s", resource, got, want)
				}
			}
		})
	})
}

func TestNamespaceThatCannotBe(t *testing.T) {
	if _, err := New(&rest.Config{}, "", "shop/web", slog.New(slog.DiscardHandler), nil); err == nil || !strings.HasPrefix(err.Error(), `namespace "shop/web": `) {
		t.Errorf("got %v", err)
	}
}

func TestSomebodyWaitsForTheServer(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(f *fakeAPI)
		want string
	}{
		{"nobody listens", func(f *fakeAPI) { f.down = true }, "cannot reach the API server: list nodes: "},
		{"a login page answers", func(f *fakeAPI) { f.foreign = map[string]foreign{"": {200, "text/html", "<html>Sign in"}} }, "cannot reach the API server: list nodes: "},
		{"it is not ready", func(f *fakeAPI) { f.refuse[""] = 503 }, ""},
		{"it is busy", func(f *fakeAPI) { f.refuse[""] = 429 }, ""},
		{"a login page answers one request", func(f *fakeAPI) { f.foreign = map[string]foreign{"list pods": {200, "text/html", "<html>Sign in"}} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				c.fail(s.api)
				s.failFast = true
				s.start()
				select {
				case err := <-s.ran:
					if c.want == "" || err == nil || !strings.HasPrefix(err.Error(), c.want) {
						t.Errorf("got %v, want %s", err, c.want)
					}
				default:
					if c.want != "" {
						t.Errorf("it waits, want %s", c.want)
					}
				}
			})
		})
	}
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name       string
		fail, mend func(f *fakeAPI)
		reason     string
	}{
		{"nobody listens", func(f *fakeAPI) { f.down = true }, func(f *fakeAPI) { f.down = false }, "connection refused"},
		{"it is not ready", func(f *fakeAPI) { f.refuse[""] = 503 }, func(f *fakeAPI) { clear(f.refuse) }, "server error"},
		{"it is busy", func(f *fakeAPI) { f.refuse[""] = 429 }, func(f *fakeAPI) { clear(f.refuse) }, "throttled"},
		{
			"a login page answers", func(f *fakeAPI) { f.foreign = map[string]foreign{"": {200, "text/html", "<html>Sign in"}} },
			func(f *fakeAPI) { f.foreign = nil }, "unreadable answer",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				c.fail(s.api)
				s.start()
				s.wantLog(1, "WARN", "for=0s")
				time.Sleep(10 * time.Minute)
				s.unrepeat(event.KindPod)
				s.want(event.KindPod, "down "+c.reason)
				// The checks run about every 10 s, so the time between two log lines can exceed a minute.
				if lines := s.logged("WARN", "cannot reach the API server, trying again"); lines < 9 || lines > 10 {
					t.Errorf("it was said %d times in 10 minutes", lines)
				}

				s.api.set(func() { c.mend(s.api) })
				time.Sleep(time.Minute)
				s.want(event.KindPod, "listing", "synced")
				s.wantLog(1, "INFO", "the API server is responding")
			})
		})
	}
}
