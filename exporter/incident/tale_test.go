package incident

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// tale tells a log findings at exact times, in seconds since the start.
type tale struct {
	*Log
	t   testing.TB
	now time.Time
}

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newTale(t testing.TB) *tale { return &tale{New(10), t, zero} }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (s *tale) at(t float64) *tale {
	s.now = zero.Add(seconds(t))
	return s
}

func (s *tale) tell(x track.Finding) *tale {
	x.Time = s.now
	s.Observe(x)
	return s
}

// beats lets nodes send heartbeats 10 s after the ones before.
func (s *tale) beats(nodes ...string) *tale {
	for _, n := range nodes {
		s.tell(track.Finding{Kind: track.HeartbeatSeen, Node: n, Duration: seconds(10)})
	}
	return s
}

// misses lets the grace period pass without a heartbeat, the half of it before.
func (s *tale) misses(grace float64, nodes ...string) *tale {
	now := s.now
	for _, n := range nodes {
		s.now = now.Add(-seconds(grace / 2))
		s.tell(track.Finding{Kind: track.HeartbeatLate, Node: n, Duration: seconds(grace / 2)})
	}
	s.now = now
	for _, n := range nodes {
		s.tell(track.Finding{Kind: track.HeartbeatMissed, Node: n, Duration: seconds(grace)})
	}
	return s
}

func (s *tale) returns(after float64, nodes ...string) *tale {
	for _, n := range nodes {
		s.tell(track.Finding{Kind: track.HeartbeatSeen, Node: n, Duration: seconds(after)})
	}
	return s
}

func (s *tale) turns(node, from, to string) *tale {
	return s.tell(track.Finding{Kind: track.NodeReadyChanged, Node: node, From: from, To: to, Duration: time.Minute})
}

// ofWeb is a finding about an address of shop/web: pod-1, of the Deployment web, on node-1.
func ofWeb(kind track.FindingKind, pod string, cause track.Cause) track.Finding {
	x := track.Finding{
		Kind: kind, Namespace: "shop", Service: "web", Pod: pod, Node: "node-1", Owner: "ReplicaSet/web-5d4f6c7b89",
		IP: netip.MustParseAddr("10.0.0.1"), Address: event.ParseUID(pod), Cause: cause,
	}
	if kind == track.AddressNotReady || kind == track.AddressRemoved {
		x.From = "ready"
	}
	return x
}

func (s *tale) loses(cause track.Cause, pods ...string) *tale {
	for _, p := range pods {
		s.tell(ofWeb(track.AddressNotReady, p, cause))
	}
	return s
}

func (s *tale) removes(cause track.Cause, pods ...string) *tale {
	for _, p := range pods {
		s.tell(ofWeb(track.AddressRemoved, p, cause))
	}
	return s
}

func (s *tale) regains(pods ...string) *tale {
	for _, p := range pods {
		s.tell(ofWeb(track.AddressReady, p, track.CauseUnknown))
		s.tell(ofWeb(track.AddressBounced, p, track.CauseUnknown))
	}
	return s
}

func (s *tale) adds(pods ...string) *tale {
	for _, p := range pods {
		x := ofWeb(track.AddressAdded, p, track.CauseUnknown)
		x.To = "ready"
		s.tell(x)
	}
	return s
}

func (s *tale) web(kind track.FindingKind, duration float64) *tale {
	return s.tell(track.Finding{Kind: kind, Namespace: "shop", Service: "web", Duration: seconds(duration)})
}

// only returns the one incident that there is as of now.
func (s *tale) only() Incident {
	s.t.Helper()
	all := s.Incidents(s.now)
	if len(all) != 1 {
		s.t.Fatalf("%d incidents, want 1: %s", len(all), summaries(all))
	}
	return all[0]
}

func (s *tale) none() {
	s.t.Helper()
	if all := s.Incidents(s.now); len(all) > 0 {
		s.t.Fatalf("%d incidents, want none: %s", len(all), summaries(all))
	}
}

func summaries(all []Incident) string {
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

func (x Incident) is(t *testing.T, state State, scope Scope, cause track.Cause, subject string) {
	t.Helper()
	equal(t, "state", x.State, state)
	equal(t, "scope", x.Scope, scope)
	equal(t, "cause", x.Cause.String(), cause.String())
	equal(t, "subject", x.Subject, subject)
}

// ofNode is the loss of an address of any Service by a pod on any node.
func ofNode(service, pod, node string) track.Finding {
	x := ofWeb(track.AddressNotReady, pod, track.CauseNodeHeartbeatLost)
	x.Service, x.Node, x.Address = service, node, event.ParseUID(service+pod)
	return x
}

func nodesNamed(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("node-%d", i))
	}
	return all
}
