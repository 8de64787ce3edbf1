package truth

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Fact is one change in the cluster. A list of facts is independent of the names of metrics.
type Fact struct {
	// Seen is the time at which the recorder received the event.
	Seen time.Time `json:"seen"`
	// Kind is one of the kinds below.
	Kind string `json:"kind"`
	// Object is the name of a node, or the namespace and name of a Service or pod, separated by a slash.
	Object string `json:"object"`
	// Address identifies an address of the Service: the UID of the object to which it refers, or its IP.
	Address string `json:"address,omitempty"`
	// From and To are the states before and after the change. The state of an object that does not exist is "absent".
	// From is empty in a fact about the state at the start.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Seconds is the time since the previous heartbeat. It is 0 if the recorder did not see that heartbeat.
	Seconds float64 `json:"seconds,omitempty"`
	// Cause is the cause of a lost address. It comes from the scenario, and is empty if the scenario does not name it.
	Cause string `json:"cause,omitempty"`
}

// The kinds of facts, with the states in From and To.
const (
	// FactNode is a node's Ready condition: True, False, Unknown.
	FactNode = "node"
	// FactHeartbeat is a heartbeat of a node, and has no states.
	FactHeartbeat = "heartbeat"
	// FactService is a Service. To is its UID.
	FactService = "service"
	// FactAddress is an address of a Service: ready, not_ready, terminating.
	FactAddress = "address"
	// FactOutage means that a Service lost its last ready address. It has no states.
	FactOutage = "outage"
	// FactReset means that all manually managed addresses of a Service were removed. To is "selector" if the Service has
	// a selector, and "no_selector" otherwise.
	FactReset = "reset"
	// FactPod is a pod's Ready condition: True, False (also for any other status).
	FactPod = "pod"
	// FactImage means that an image of a running pod changed. It has no states.
	FactImage = "image"
	// FactRestart means that containers restarted while the pod stayed Ready. To is the number of containers.
	FactRestart = "restart"
)

const absentState = "absent"

func (f *Fact) isHeartbeat() bool { return f.Kind == FactHeartbeat }

// appears reports whether the object was not known before.
func (f *Fact) appears() bool { return f.From == "" || f.From == absentState }

func (f *Fact) number() float64 {
	n, _ := strconv.ParseFloat(f.To, 64) // the recorder wrote the number
	return n
}

// note keeps a change, and counts it.
func (s *state) note(f Fact) {
	if !s.inBaseline {
		s.facts = append(s.facts, f)
		s.counted.count(f)
	}
}

// noteStart adds the state at the start, which the recorder does not count.
func (s *state) noteStart(seen time.Time) {
	begin := len(s.facts)
	for name, n := range s.nodes {
		s.note(Fact{Seen: seen, Kind: FactNode, Object: name, To: string(n.ready)})
	}
	for key, svc := range s.services {
		s.note(Fact{Seen: seen, Kind: FactService, Object: key.String(), To: string(svc.uid)})
		for id, is := range s.addressesOf(key, svc.uid) {
			s.note(Fact{Seen: seen, Kind: FactAddress, Object: key.String(), Address: id, To: is.String()})
		}
	}
	for key, pod := range s.pods {
		s.note(Fact{Seen: seen, Kind: FactPod, Object: key.String(), To: readiness(podReady(pod))})
	}
	slices.SortFunc(s.facts[begin:], func(a, b Fact) int {
		// A Service comes before its addresses.
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Address, b.Address))
	})
}

func readiness(ready bool) string {
	if ready {
		return "True"
	}
	return "False"
}

// Facts returns the facts up to the given time, in order. It fails if the recorder has missed events.
func (r *Recorder) Facts(until time.Time) []Fact {
	r.mu.Lock()
	defer r.mu.Unlock()
	steps.Must(r.err)
	facts := slices.Clone(r.state.facts)
	slices.SortStableFunc(facts, func(a, b Fact) int { return a.Seen.Compare(b.Seen) })
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Seen.After(until) })
}

// Began returns the time at which the recorder had listed all objects.
func (r *Recorder) Began() time.Time { return r.began }
