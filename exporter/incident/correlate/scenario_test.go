package correlate

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// scenario passes transitions to a log at exact times, in seconds since the start.
type scenario struct {
	*Log
	t   testing.TB
	now time.Time
}

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newScenario(t testing.TB) *scenario { return &scenario{New(10), t, zero} }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (s *scenario) at(t float64) *scenario {
	s.now = zero.Add(seconds(t))
	return s
}

func (s *scenario) sees(x transition.Transition) *scenario {
	s.Observe(x)
	return s
}

func (s *scenario) is() transition.At { return transition.At{Time: s.now} }

// beats sends heartbeats of nodes, 10 s after the previous ones.
func (s *scenario) beats(nodes ...string) *scenario { return s.returns(10, nodes...) }

// misses lets the grace period pass without heartbeats of the nodes.
func (s *scenario) misses(grace float64, nodes ...string) *scenario {
	s.sees(transition.GracePeriodKnown{At: s.is(), Period: seconds(grace)})
	now := s.now
	for _, n := range nodes {
		s.now = now.Add(-seconds(grace / 2))
		s.sees(transition.HeartbeatLate{OfNode: transition.OfNode{At: s.is(), Node: n}, Silence: seconds(grace / 2)})
	}
	s.now = now
	for _, n := range nodes {
		s.sees(transition.HeartbeatMissed{OfNode: transition.OfNode{At: s.is(), Node: n}, Silence: seconds(grace)})
	}
	return s
}

func (s *scenario) returns(after float64, nodes ...string) *scenario {
	for _, n := range nodes {
		s.sees(transition.HeartbeatSeen{OfNode: transition.OfNode{At: s.is(), Node: n}, Interval: seconds(after)})
	}
	return s
}

func (s *scenario) turns(node string, from, to event.Status) *scenario {
	return s.sees(transition.NodeReadyChanged{OfNode: transition.OfNode{At: s.is(), Node: node}, From: from, To: to, Lasted: time.Minute})
}

var shopWeb = transition.Service{Namespace: "shop", Name: "web"}

// ofWeb returns the address of a pod in shop/web. The pod belongs to the Deployment web and runs on node-1.
func ofWeb(pod string) transition.Address {
	return transition.Address{
		Service: shopWeb, ID: event.ParseUID(pod), IP: netip.MustParseAddr("10.0.0.1"),
		Pod: transition.Pod{Namespace: "shop", Name: pod, Node: "node-1", Owner: "ReplicaSet/web-5d4f6c7b89"},
	}
}

func (s *scenario) loses(why cause.Cause, pods ...string) *scenario {
	for _, p := range pods {
		s.sees(transition.AddressLost{At: s.is(), Address: ofWeb(p), Cause: why})
	}
	return s
}

func (s *scenario) removes(why cause.Cause, pods ...string) *scenario {
	for _, p := range pods {
		s.sees(transition.AddressLost{At: s.is(), Address: ofWeb(p), Removed: true, Cause: why})
	}
	return s
}

func (s *scenario) regains(pods ...string) *scenario {
	for _, p := range pods {
		s.sees(transition.AddressReady{At: s.is(), Address: ofWeb(p)})
	}
	return s
}

func (s *scenario) adds(pods ...string) *scenario {
	for _, p := range pods {
		s.sees(transition.AddressAdded{At: s.is(), Address: ofWeb(p), Ready: true})
	}
	return s
}

func (s *scenario) outage() *scenario {
	return s.sees(transition.OutageStarted{At: s.is(), Service: shopWeb})
}

func (s *scenario) outageOver(lasted float64) *scenario {
	return s.sees(transition.OutageEnded{At: s.is(), Service: shopWeb, Lasted: seconds(lasted), AtLeast: seconds(lasted), AtMost: seconds(lasted)})
}

// only returns the log's only incident as of now.
func (s *scenario) only() incident.Incident {
	s.t.Helper()
	all := s.Incidents(s.now)
	if len(all) != 1 {
		s.t.Fatalf("%d incidents, want 1: %s", len(all), summaries(all))
	}
	return all[0]
}

func (s *scenario) none() {
	s.t.Helper()
	if all := s.Incidents(s.now); len(all) > 0 {
		s.t.Fatalf("%d incidents, want none: %s", len(all), summaries(all))
	}
}

func summaries(all []incident.Incident) string {
	text := ""
	for _, x := range all {
		text += "\n" + string(x.State) + " " + x.Summary
	}
	return text
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func is(t *testing.T, x incident.Incident, state incident.State, scope incident.Scope, why cause.Cause, subject string) {
	t.Helper()
	equal(t, "state", x.State, state)
	equal(t, "scope", x.Scope, scope)
	equal(t, "cause", x.Cause.String(), why.String())
	equal(t, "subject", x.Subject, subject)
}

// ofNode returns the loss of an address because of its lost node.
func (s *scenario) ofNode(service, pod, node string) transition.AddressLost {
	x := transition.AddressLost{At: s.is(), Address: ofWeb(pod), Cause: cause.NodeHeartbeatLost}
	x.Name, x.Address.Pod.Node, x.ID = service, node, event.ParseUID(service+pod)
	return x
}

func nodesNamed(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("node-%d", i))
	}
	return all
}
