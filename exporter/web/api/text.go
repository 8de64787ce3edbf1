package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// MinPrefix is the minimum length of an abbreviated ID.
const MinPrefix = 4

// The ID of an incident has idLength characters. Tables abbreviate it to shortIDLength characters, which distinguish all
// incidents that kubeflap keeps.
const shortIDLength, idLength = 8, 16

// ShortID returns the ID as tables show it.
func ShortID(id string) string { return id[:min(len(id), shortIDLength)] }

// What returns the incident's subject, with the subject's kind and namespace.
func (x *Incident) What() string {
	kind, name, ofKind := strings.Cut(x.Subject, "/")
	if !ofKind {
		kind, name = kinds[x.Scope], x.Subject
	}
	return strings.TrimPrefix(kind+" "+strings.TrimPrefix(x.Namespace+"/"+name, "/"), " ")
}

var kinds = map[string]string{"node": "node", "workload": "workload", "service": "Service"}

// Since returns the start of the incident, in UTC.
func (x *Incident) Since() string { return x.Start.UTC().Format(time.DateTime) }

// For returns the duration of the incident.
func (x *Incident) For() string {
	if x.End == nil {
		return seconds(x.DurationSeconds) + " so far"
	}
	return seconds(x.DurationSeconds)
}

// Then returns the rest of the remedy, after the first step.
func (x *Incident) Then() string {
	_, rest := phrase.FirstSentence(x.Remedy)
	return rest
}

// Decision returns the verdict in words and as the API has it, and the fact that decided it.
func (x *Incident) Decision() string {
	text := x.VerdictText + " (" + x.Verdict + ")"
	if x.Withdrawn != "" {
		return "none, because the incident was withdrawn: " + x.Withdrawn
	}
	for _, h := range x.Considered {
		if h.Verdict == x.Verdict {
			return text + ", because " + h.Because
		}
	}
	return text
}

// Hypotheses returns the considered hypotheses with their verdicts in words. Those with the same result for the same
// reason are one entry.
func (x *Incident) Hypotheses() (all []Hypothesis) {
	for _, h := range x.Considered {
		if v, ok := verdict.Parse(h.Verdict); ok {
			h.Verdict = v.Words()
		}
		i := slices.IndexFunc(all, func(other Hypothesis) bool { return other.Holds == h.Holds && other.Because == h.Because })
		if i < 0 {
			all = append(all, h)
		} else {
			all[i].Verdict += ", " + h.Verdict
		}
	}
	return all
}

// String describes the result for a hypothesis.
func (h Hypothesis) String() string { return h.Verdict + ": " + h.Holds + ", because " + h.Because }

// Hit summarizes the effects of an incident: the numbers of nodes, addresses and pods, and the outage time. It omits the
// name of the affected Service if this Service is the incident's subject.
func (x *Incident) Hit() string {
	var parts []string
	if nodes := len(x.Nodes) + x.NodesLeftOut; nodes > 1 {
		parts = append(parts, phrase.Count(nodes, "node", "nodes"))
	}
	if x.AddressesLost > 0 {
		text, services := phrase.Count(x.AddressesLost, "address", "addresses"), len(x.Services)+x.ServicesLeftOut
		switch {
		case services > 1:
			text += fmt.Sprintf(" of %d Services", services)
		case len(x.Services) == 1 && !strings.HasSuffix(x.What(), " "+x.Services[0].Name()):
			text += " of " + x.Services[0].Name()
		}
		parts = append(parts, text)
	}
	if x.OutageSeconds > 0 {
		atLeast, atMost := x.OutageSeconds, x.OutageSeconds
		for _, s := range x.Services {
			if s.OutageAtMost > 0 {
				atLeast, atMost = atLeast+s.OutageAtLeast-s.OutageSeconds, atMost+s.OutageAtMost-s.OutageSeconds
			}
		}
		parts = append(parts, "down "+phrase.Range(inSeconds(atLeast), inSeconds(atMost)))
	}
	if x.PodsEvicted > 0 {
		parts = append(parts, phrase.Count(x.PodsEvicted, "pod", "pods")+" evicted")
	}
	switch {
	case len(parts) > 0:
	case x.State == string(incident.StateOngoing) && x.Scope == "service":
		return "all manually managed addresses"
	default:
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Figures returns the values on which the remedy is based.
func (x *Incident) Figures() (all []string) {
	add := func(name string, value float64) {
		if value > 0 {
			all = append(all, name+" "+seconds(value))
		}
	}
	longest := "longest heartbeat interval"
	if x.Numbers.LongestAtLeast {
		longest += " at least"
	}
	add("grace period", x.Numbers.GracePeriod)
	add(longest, x.Numbers.LongestInterval)
	add("recommended grace period", x.Numbers.RecommendedGracePeriod)
	if x.NodeTransitions > 0 {
		all = append(all, "nodes turned not Ready or Unknown "+phrase.Often(x.NodeTransitions))
	}
	for _, w := range x.Numbers.Windows {
		clients := "clients that apply updates at once"
		if w.Seconds > 0 {
			clients = "clients that batch updates for " + seconds(w.Seconds)
		}
		all = append(all, fmt.Sprintf("%s: %s, %s", clients,
			phrase.Count(w.Bounces, "bounce", "bounces"), phrase.Count(w.StaleReadds, "stale re-add", "stale re-adds")))
	}
	return all
}

// Name returns the namespace and the name of the Service.
func (s *Service) Name() string { return s.Namespace + "/" + s.Service }

// Effect describes the incident's effect on the Service.
func (s *Service) Effect() string {
	text := "lost no ready address"
	if s.AddressesLost > 0 {
		text = "lost " + phrase.Count(s.AddressesLost, "ready address", "ready addresses")
	}
	if s.AddressesBack > 0 {
		text += fmt.Sprintf(", %d came back", s.AddressesBack)
	}
	switch down := s.down(); {
	case (s.Down || s.Outages > 0) && down == phrase.Duration(0):
		text += "; no ready address for a moment"
	case s.Down || s.Outages > 0:
		text += "; no ready address for " + down
	}
	if s.Outages > 1 {
		text += fmt.Sprintf(" in %d outages", s.Outages)
	}
	if s.Down {
		text += " so far"
	}
	return text
}

// EvidenceLeftOutText describes the omitted evidence. It is empty if the evidence is complete.
func (x *Incident) EvidenceLeftOutText() string {
	if x.EvidenceLeftOut == 0 {
		return ""
	}
	return phrase.Count(x.EvidenceLeftOut, "entry", "entries") + " between the first and the last left out"
}

// down returns how long the Service had no ready address.
func (s *Service) down() string {
	if s.OutageAtMost > 0 {
		return phrase.Range(inSeconds(s.OutageAtLeast), inSeconds(s.OutageAtMost))
	}
	return seconds(s.OutageSeconds)
}

func seconds(n float64) string { return phrase.Duration(inSeconds(n)) }

func inSeconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Down reports whether one of the incident's Services currently has no ready address.
func (x *Incident) Down() bool {
	return slices.ContainsFunc(x.Services, func(s Service) bool { return s.Down })
}
