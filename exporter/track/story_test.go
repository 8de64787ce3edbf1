package track

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// story passes events to a tracker at exact times. It starts at zero.
type story struct {
	*Tracker
	t     *testing.T
	now   time.Time
	found []transition.Transition
}

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newStory(t *testing.T, settings Settings) *story {
	s := &story{t: t, now: zero}
	s.Tracker = New(settings)
	return s
}

// Apply, Advance and Settle store the transitions.
func (s *story) Apply(e event.Event) { s.found = append(s.found, s.Tracker.Apply(e)...) }
func (s *story) Advance(t time.Time) { s.found = append(s.found, s.Tracker.Advance(t)...) }
func (s *story) Settle()             { s.found = append(s.found, s.Tracker.Settle()...) }
func (s *story) transitions() []transition.Transition {
	s.Advance(time.Time{}) // a query may have added transitions
	return s.found
}

// at sets the time of the next events, in seconds since the start.
func (s *story) at(seconds float64) *story {
	s.now = zero.Add(time.Duration(seconds * float64(time.Second)))
	return s
}

func (s *story) is(typ event.Type, objects ...event.Object) *story {
	for _, o := range objects {
		s.Apply(event.Event{Seen: s.now, Kind: o.Kind(), Type: typ, Object: o})
	}
	return s
}

func (s *story) added(objects ...event.Object) *story    { return s.is(event.Added, objects...) }
func (s *story) modified(objects ...event.Object) *story { return s.is(event.Modified, objects...) }
func (s *story) deleted(objects ...event.Object) *story  { return s.is(event.Deleted, objects...) }

func (s *story) watch(typ event.Type, kinds ...event.Kind) *story {
	for _, k := range kinds {
		s.Apply(event.Event{Seen: s.now, Kind: k, Type: typ})
	}
	return s
}

// lists sends a complete list of one kind.
func (s *story) lists(k event.Kind, objects ...event.Object) *story {
	s.watch(event.Listing, k)
	s.is(event.Listed, objects...)
	return s.watch(event.Synced, k)
}

// starts lists every kind, but not the control-plane Leases, with the matching objects.
func (s *story) starts(objects ...event.Object) *story {
	for _, k := range append(event.Kinds(), event.KindDeployment, event.KindStatefulSet) {
		var some []event.Object
		for _, o := range objects {
			if o.Kind() == k {
				some = append(some, o)
			}
		}
		s.lists(k, some...)
	}
	return s
}

func (s *story) service(name string) services.Service {
	s.t.Helper()
	for _, v := range s.Services(s.now, nil) {
		if v.Name == name {
			return v
		}
	}
	s.t.Fatalf("there is no Service %s", name)
	return services.Service{}
}

// of returns the transitions of a type.
func of[T transition.Transition](s *story) (all []T) {
	for _, x := range s.transitions() {
		if x, ok := x.(T); ok {
			all = append(all, x)
		}
	}
	return all
}

func count[T transition.Transition](s *story) int { return len(of[T](s)) }

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func id(s string) event.UID { return event.ParseUID(s) }

func seconds(d time.Duration) float64 { return d.Seconds() }

func clock(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// lease returns a node's Lease. renewed is in seconds since the start.
func lease(node string, renewed float64) *event.Lease {
	return &event.Lease{
		Meta:      event.Meta{UID: id("lease/" + node), Namespace: "kube-node-lease", Name: node},
		RenewTime: clock(renewed),
	}
}

// aNode returns a node whose Ready condition has the given status. The parameter since is the condition's last change,
// in seconds since the start.
func aNode(name string, status event.Status, since float64) *event.Node {
	return &event.Node{
		Meta:  event.Meta{UID: id("node/" + name), Name: name},
		Ready: &event.Condition{Status: status, LastTransitionTime: clock(since), LastHeartbeatTime: clock(-1000)},
	}
}

func unknownSince(name string, since float64) *event.Node {
	n := aNode(name, event.StatusUnknown, since)
	n.Ready.Reason = "NodeStatusUnknown"
	return n
}

func aService(name string, selector bool) *event.Service {
	s := &event.Service{Meta: event.Meta{UID: id("service/" + name), Namespace: "shop", Name: name}, Type: "ClusterIP"}
	if selector {
		s.Selector = map[string]string{"app": name}
	}
	return s
}

// slice returns a slice of a Service with addresses such as "web-1" (ready), "-web-1" (not ready), "~web-1" (terminating) and
// "+web-1" (terminating and ready).
func slice(name, service string, addresses ...string) *event.EndpointSlice {
	o := &event.EndpointSlice{
		Meta:    event.Meta{UID: id("slice/" + name), Namespace: "shop", Name: name},
		Service: service, Owner: id("service/" + service), ManagedBy: "endpointslice-controller.k8s.io",
	}
	for i, a := range addresses {
		o.Addresses = append(o.Addresses, addressOf(a, i))
	}
	return o
}

func addressOf(text string, i int) event.Address {
	a := event.Address{IP: fmt.Sprintf("10.0.0.%d", i+1), Ready: true}
	switch text[0] {
	case '-':
		a.Ready, text = false, text[1:]
	case '~':
		a.Ready, a.Terminating, text = false, true, text[1:]
	case '+':
		a.Terminating, text = true, text[1:]
	}
	a.UID = id("pod/" + text)
	return a
}

// handWritten returns the Endpoints of a Service with addresses without a targetRef.
func handWritten(service string, ips ...string) *event.Endpoints {
	o := &event.Endpoints{Meta: event.Meta{UID: id("endpoints/" + service), Namespace: "shop", Name: service}}
	for _, ip := range ips {
		o.Addresses = append(o.Addresses, event.Address{UID: event.AddressUID(ip), IP: ip, ByHand: true, Ready: true})
	}
	return o
}

func aPod(name string, ready event.Status, containers ...event.Container) *event.Pod {
	return &event.Pod{
		Meta: event.Meta{UID: id("pod/" + name), Namespace: "shop", Name: name}, Phase: "Running", Node: "node-1",
		Ready: &event.Condition{Status: ready}, Containers: containers,
	}
}

// aWorkload returns a Deployment or a StatefulSet whose pods have the label app.
func aWorkload(k event.Kind, name string, replicas int32) *event.Workload {
	return &event.Workload{
		Meta: event.Meta{UID: id(k.String() + "/" + name), Namespace: "shop", Name: name}, Resource: k,
		Replicas: replicas, Selector: map[string]string{"app": name}, Generation: 1,
	}
}

// These are waiting times that most stories need.
const (
	nodeWait = 3 * time.Second
	lagWait  = watches.LagWait
)

// kept returns the number of entries in a field of a part of the tracker, such as "all". "any" selects any
// entry of a map.
func kept(part any, field string) int {
	v := reflect.ValueOf(part).Elem()
	for _, name := range strings.Split(field, ".") {
		if name != "any" {
			v = reflect.Indirect(v).FieldByName(name)
			continue
		}
		entries := v.MapRange()
		entries.Next()
		v = entries.Value().Elem()
	}
	switch {
	case v.Kind() == reflect.Int:
		return int(v.Int())
	case v.Kind() != reflect.Pointer:
		return v.Len()
	case v.IsNil():
		return 0
	}
	return 1
}
