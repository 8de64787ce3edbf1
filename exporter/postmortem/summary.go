package postmortem

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// maxNamed is the maximum number of incidents or objects that a sentence names.
const maxNamed = 5

// summaryOf returns the summary: what happened, what to fix, the effect, and the gaps in coverage.
func summaryOf(in *Input, sections []section, coverage string) []string {
	var counted []section
	for _, s := range sections {
		if s.Withdrawn == "" {
			counted = append(counted, s)
		}
	}
	var all []string
	switch len(counted) {
	case 0:
		all = append(all, noneText(in))
	case 1:
		all = append(all, sentence(counted[0].Summary), toFixOne(&counted[0]))
	default:
		all = append(all, namesOf(counted, in.Filter), toFixAll(counted))
	}
	all = append(all, startText(in)...)
	if len(counted) > 0 {
		all = append(all, costOf(counted, in)...)
	}
	if n := len(sections) - len(counted); n > 0 {
		all = append(all, "kubeflap withdrew "+phrase.Count(n, "more incident", "more incidents")+". The numbers here do not include them.")
	}
	return append(all, coverage)
}

func noneText(in *Input) string {
	if lostIn(in) != nil {
		return "kubeflap has kept no incidents of this period" + limited(in.Filter) + "."
	}
	return "kubeflap saw no incidents in this period" + limited(in.Filter) + ", apart from expected rollouts and drains."
}

// sentence appends a period if the text does not end with one.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func limited(f Filter) string {
	if text := limitsOf(f); text != "" {
		return " (" + text + ")"
	}
	return ""
}

func toFixOne(s *section) string {
	if s.Verdict == verdict.Undecided.String() {
		text := "Which component to fix is undecided."
		if s.Command != "" {
			text += " To find out: " + sentence(s.Command)
		}
		return text
	}
	return "To fix: " + s.ToFix + " (verdict " + s.Verdict + ")."
}

func namesOf(sections []section, f Filter) string {
	var names []string
	for _, s := range sections[:min(len(sections), maxNamed)] {
		names = append(names, s.About+" at "+s.Start.UTC().Format("15:04:05"))
	}
	text := fmt.Sprintf("kubeflap saw %d incidents%s: %s", len(sections), limited(f), strings.Join(names, "; "))
	if more := len(sections) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "."
}

func toFixAll(sections []section) string {
	var verdicts []string
	count, fix := map[string]int{}, map[string]string{}
	for _, s := range sections {
		if count[s.Verdict]++; !slices.Contains(verdicts, s.Verdict) {
			verdicts = append(verdicts, s.Verdict)
		}
		fix[s.Verdict] = s.ToFix
	}
	for i, v := range verdicts {
		verdicts[i] = fmt.Sprintf("%s (verdict %s, %s)", fix[v], v, phrase.Count(count[v], "incident", "incidents"))
	}
	return "To fix: " + strings.Join(verdicts, "; ") + "."
}

// costOf returns the combined effect of the incidents.
func costOf(sections []section, in *Input) (all []string) {
	services, atLeast, approximate := map[string]bool{}, "", ""
	lost, evicted, running, outages := 0, 0, 0, 0.0
	for _, s := range sections {
		lost, evicted, outages = lost+s.AddressesLost, evicted+s.PodsEvicted, outages+s.OutageSeconds
		for _, x := range s.Services {
			if x.AddressesLost > 0 {
				services[x.Namespace+"/"+x.Service] = true
			}
		}
		if s.ServicesLeftOut > 0 {
			atLeast = "at least "
		}
		if aboutPrefix(s.Services) != "" {
			approximate = "about "
		}
		if s.End == nil {
			running++
		}
	}
	switch {
	case lost == 0 && len(sections) == 1: // the incident's summary contains this number
	case lost == 0:
		all = append(all, noServiceText(in)+" lost a ready address.")
	default:
		all = append(all, fmt.Sprintf("Lost: %s of %s%s.", phrase.Count(lost, "ready address", "ready addresses"),
			atLeast, phrase.Count(len(services), "Service", "Services")))
	}
	if outages > 0 {
		all = append(all, "Services had no ready address for "+approximate+seconds(outages)+" in total.")
	} else {
		all = append(all, withoutText(in)...)
	}
	if n := len(slices.DeleteFunc(slices.Clone(sections), func(s section) bool { return !manualLost(s.Incident) })); n > 0 {
		all = append(all, "The manually managed addresses of "+phrase.Count(n, "Service", "Services")+" were removed. They do not count as ready addresses.")
	}
	if evicted > 0 {
		all = append(all, phrase.Count(evicted, "pod was", "pods were")+" evicted.")
	}
	if running > 0 {
		all = append(all, phrase.Count(running, "incident was", "incidents were")+" still ongoing at "+moment(in.Answer.AsOf)+" UTC.")
	}
	return all
}

// orUnknown formats a time, or returns "unknown" for nil.
func orUnknown(t *time.Time) string {
	if t == nil {
		return "unknown"
	}
	return moment(*t) + " UTC"
}
