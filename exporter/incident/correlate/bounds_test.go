package correlate

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// losesOne loses the only address of workload i, which has its own Service.
func (s *scenario) losesOne(i int, why cause.Cause) *scenario {
	return s.sees(transition.AddressLost{At: s.is(), Address: one(i), Removed: why.EndsPod(), Cause: why})
}

func one(i int) transition.Address {
	x := ofWeb(fmt.Sprintf("pod-%d", i))
	x.Name, x.Pod.Owner = fmt.Sprintf("web-%d", i), fmt.Sprintf("StatefulSet/web-%d", i)
	return x
}

func (s *scenario) regainsOne(i int) *scenario {
	return s.sees(transition.AddressReady{At: s.is(), Address: one(i)})
}

// TestOnlyEndedIncidentsAreDropped checks that the newest ended incidents stay, with all that have not ended.
func TestOnlyEndedIncidentsAreDropped(t *testing.T) {
	s := &scenario{New(2), t, zero}
	s.at(0).losesOne(0, cause.ProbeFailed)
	for i := range 3 {
		s.at(10*float64(i+1)).losesOne(i+1, cause.ProbeFailed).at(10*float64(i+1) + 1).regainsOne(i + 1)
	}
	equal(t, "incidents before one has ended", len(s.Incidents(s.now)), 4)
	equal(t, "displaced", s.Displaced(s.now), incident.Displaced{})
	s.at(300).losesOne(4, cause.ProbeFailed)
	all := s.Incidents(s.now)
	equal(t, "incidents", len(all), 4)
	equal(t, "the oldest, which is ongoing", all[1].Subject, "StatefulSet/web-0")
	equal(t, "displaced", s.Displaced(s.now), incident.Displaced{Dropped: 1, DroppedUntil: phrase.Time{Time: zero.Add(11 * time.Second)}})
}

func TestAStallOfALargeClusterIsOneIncidentAndPushesOutNoOther(t *testing.T) {
	for _, nodes := range []int{150, 1200} {
		s := &scenario{New(100), t, zero}
		s.at(0)
		for i := range 99 {
			s.losesOne(i, cause.ProbeFailed).regainsOne(i)
		}
		names := nodesNamed(nodes)
		s.at(300).beats(names...).at(340).misses(40, names...)
		for _, n := range names {
			for j := range 10 {
				s.sees(s.ofNode("web", n+fmt.Sprint(j), n))
			}
		}
		all := s.Incidents(s.now)
		equal(t, "incidents", len(all), 100)
		equal(t, "scope", all[0].Scope, incident.ScopeControlPlane)
		equal(t, "nodes listed", len(all[0].Nodes), 100)
		equal(t, "nodes left out", all[0].NodesLeftOut, nodes-100)
	}
}

func TestManyRolloutsAtOnceAreForgotten(t *testing.T) {
	s := newScenario(t).rollout(20_000)
	s.at(1000).none()
	s.at(2000).none()
	equal(t, "left", kept(s.Log), 0)
}

// kept returns the number of entries in the maps and queues of a log.
func kept(l *Log) int {
	nodes := reflect.ValueOf(l.nodes).Elem()
	left := nodes.FieldByName("troubled").Len() + len(l.pods.lately) + len(l.services.lately) + len(l.services.addresses)
	store := reflect.ValueOf(l.ledger).Elem()
	return left + store.FieldByName("active").Len() + store.FieldByName("Timers").Len()
}

// rollout makes many workloads replace one address each within seconds.
func (s *scenario) rollout(many int) *scenario {
	for i := range many {
		s.at(float64(i)/1000).losesOne(i, cause.PodDeleted)
	}
	return s
}

// notices returns the kinds of the new notices by subject.
func (s *scenario) notices() map[string][]incident.NoticeKind {
	all := map[string][]incident.NoticeKind{}
	for _, n := range s.Notices(s.now) {
		all[n.Incident.Subject] = append(all[n.Incident.Subject], n.Kind)
	}
	return all
}

func TestAMergedIncidentHasANotice(t *testing.T) {
	names := nodesNamed(4)
	s := newScenario(t).at(0).beats(names...)
	s.at(40).misses(40, names[0]).at(41).notices()
	s.at(42).misses(40, names[1]).at(43).notices()
	s.at(44).misses(40, names[2])
	reported := s.Notices(s.now)
	equal(t, "notices", len(reported), 2)
	equal(t, "the first incident has changed", reported[0].Kind, incident.Changed)
	equal(t, "its subject", reported[0].Incident.Subject, "control plane")
	for i, x := range reported[1:] {
		equal(t, "the others are part of it", x.Kind, incident.Merged)
		equal(t, "which", x.Incident.Subject, names[i+1])
		equal(t, "into", x.Into, s.only().ID)
		equal(t, "whose subject is", x.IntoSubject, s.only().Subject)
	}
	equal(t, "more", len(s.Notices(s.now)), 0)
}

func TestLastNoticesAreOfOngoingAndRecoveredIncidents(t *testing.T) {
	s := newScenario(t)
	s.at(0).losesOne(0, cause.ProbeFailed)
	s.at(1).losesOne(1, cause.ProbeFailed).at(2).regainsOne(1)
	rest := s.LastNotices(s.now)
	equal(t, "notices", len(rest), 2)
	equal(t, "running", rest[0].Kind, incident.Ongoing)
	equal(t, "recovered", rest[1].Kind, incident.Ended)
}

// TestAddressesThatComeAndGoAreReportedOnce overwrites manually managed addresses as often as somebody restores them.
func TestAddressesThatComeAndGoAreReportedOnce(t *testing.T) {
	s := newScenario(t)
	s.at(0).sees(transition.SelectorConflict{At: s.is(), Service: shopWeb, Count: 1})
	equal(t, "pending", fmt.Sprint(s.at(1).notices()), fmt.Sprint(map[string][]incident.NoticeKind{"web": {incident.Started}}))
	for i, want := range []map[string][]incident.NoticeKind{{"web": {incident.Changed}}, {}, {}} {
		s.at(float64(10*i + 10)).sees(transition.EndpointsReset{At: s.is(), Service: shopWeb, Count: 1, BySelector: true})
		equal(t, "ongoing", s.only().State, incident.StateOngoing)
		equal(t, "reported", fmt.Sprint(s.notices()), fmt.Sprint(want))
		s.at(float64(10*i + 15)).sees(transition.EndpointsRewritten{At: s.is(), Service: shopWeb, Count: 1})
		equal(t, "pending again", s.only().State, incident.StatePending)
		equal(t, "reported", len(s.notices()), 0)
	}
}
