package incident

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// What returns the incident's subject, with the subject's kind and namespace.
func (x *Incident) What() string {
	kind, name, ofKind := strings.Cut(x.Subject, "/")
	if !ofKind {
		kind, name = kinds[x.Scope], x.Subject
	}
	return strings.TrimPrefix(kind+" "+strings.TrimPrefix(x.Namespace+"/"+name, "/"), " ")
}

var kinds = map[Scope]string{ScopeNode: "node", ScopeWorkload: "workload", ScopeService: "Service"}

// Since returns the start of the incident, in UTC.
func (x *Incident) Since() string { return x.Start.UTC().Format(time.DateTime) }

// Lasting returns the duration of the incident, for a text that begins with its state.
func (x *Incident) Lasting() string {
	switch {
	case !x.End.IsZero():
		return "after " + x.Duration.String()
	case x.RecordingEnded:
		return "for " + x.Duration.String() + " until the recording ended"
	}
	return "for " + x.Duration.String() + " so far"
}

// commandOf finds the command in a first step.
var commandOf = regexp.MustCompile(` \((kubectl [^()]*)\)`)

// setFirstStep takes the first step and its command from the remedy.
func (x *Incident) setFirstStep() {
	x.FirstStep, _ = phrase.FirstSentence(x.Remedy)
	if found := commandOf.FindStringSubmatch(x.FirstStep); x.Command == "" && found != nil {
		x.Command = found[1]
	}
	x.FirstStep = strings.Replace(x.FirstStep, " ("+x.Command+")", "", 1)
}

// Then returns the rest of the remedy, after the first step.
func (x *Incident) Then() string {
	_, rest := phrase.FirstSentence(x.Remedy)
	return rest
}

// Decision returns the verdict in words and as the API has it, and the fact that decided it.
func (x *Incident) Decision() string {
	text := fmt.Sprintf("%s (%s)", x.VerdictText, x.Verdict)
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

// Hypothesis is the result for hypotheses that were considered, and the reason.
type Hypothesis struct {
	Holds         verdict.Answer
	verdicts, why string
}

// String describes the result.
func (h Hypothesis) String() string {
	return fmt.Sprintf("%s: %s, because %s", h.verdicts, h.Holds, h.why)
}

// Hypotheses returns the considered hypotheses with their verdicts in words. Those with the same result for the same
// reason are one entry.
func (x *Incident) Hypotheses() (all []Hypothesis) {
	for _, c := range x.Considered {
		i := slices.IndexFunc(all, func(h Hypothesis) bool { return h.Holds == c.Holds && h.why == c.Because })
		if i < 0 {
			all = append(all, Hypothesis{c.Holds, c.Verdict.Words(), c.Because})
		} else {
			all[i].verdicts += ", " + c.Verdict.Words()
		}
	}
	return all
}

// Hit summarizes the effects of an incident: the numbers of nodes, addresses and pods, and the outage time. It omits the
// name of the affected Service if this Service is the incident's subject.
func (x *Incident) Hit() string {
	var parts []string
	if nodes := len(x.Nodes) + x.NodesLeftOut; nodes > 1 {
		parts = append(parts, phrase.Count(nodes, "node", "nodes"))
	}
	if x.Lost > 0 {
		text, services := phrase.Count(x.Lost, "address", "addresses"), len(x.Services)+x.ServicesLeftOut
		switch {
		case services > 1:
			text += fmt.Sprintf(" of %d Services", services)
		case len(x.Services) == 1 && !strings.HasSuffix(x.What(), " "+x.Services[0].String()):
			text += " of " + x.Services[0].String()
		}
		parts = append(parts, text)
	}
	if x.OutageTime > 0 {
		whole := Service{OutageTime: x.OutageTime, AtLeast: x.OutageTime, AtMost: x.OutageTime}
		for _, s := range x.Services {
			if s.AtMost > 0 {
				whole.AtLeast, whole.AtMost = whole.AtLeast+s.AtLeast-s.OutageTime, whole.AtMost+s.AtMost-s.OutageTime
			}
		}
		parts = append(parts, "down "+whole.DownFor())
	}
	if x.Evicted > 0 {
		parts = append(parts, phrase.Count(x.Evicted, "pod", "pods")+" evicted")
	}
	switch {
	case len(parts) > 0:
	case x.State == StateOngoing && x.Scope == ScopeService:
		return "all manually managed addresses"
	default:
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Figures returns the values on which the remedy is based.
func (x *Incident) Figures() (all []string) {
	add := func(name string, value phrase.Seconds) {
		if value > 0 {
			all = append(all, name+" "+value.String())
		}
	}
	longest := "longest heartbeat interval"
	if x.Numbers.LongestAtLeast {
		longest += " at least"
	}
	add("grace period", x.Numbers.GracePeriod)
	add(longest, x.Numbers.LongestInterval)
	add("recommended grace period", x.Numbers.RecommendedGracePeriod)
	if x.Turned > 0 {
		all = append(all, "nodes turned not Ready or Unknown "+phrase.Often(x.Turned))
	}
	for _, w := range x.Numbers.Windows {
		clients := "clients that apply updates at once"
		if w.Length > 0 {
			clients = "clients that batch updates for " + w.Length.String()
		}
		all = append(all, fmt.Sprintf("%s: %s, %s", clients,
			phrase.Count(w.Bounces, "bounce", "bounces"), phrase.Count(w.StaleReadds, "stale re-add", "stale re-adds")))
	}
	return all
}

// EvidenceLeftOutText describes the omitted evidence. It is empty if the evidence is complete.
func (x *Incident) EvidenceLeftOutText() string {
	if x.EvidenceLeftOut == 0 {
		return ""
	}
	return phrase.Count(x.EvidenceLeftOut, "entry", "entries") + " between the first and the last left out"
}

// Down reports whether one of the incident's Services currently has no ready address.
func (x *Incident) Down() bool {
	return slices.ContainsFunc(x.Services, func(s Service) bool { return s.Down })
}
