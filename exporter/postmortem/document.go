package postmortem

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/timeline"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// document holds the text of a report, for Markdown and HTML. The templates escape the text.
type document struct {
	Title, Period, Limits string
	Summary               []string
	Incidents             []section
	Advice                []report.Recommendation
	// AdviceNote says which data the advice is based on, or why there is no advice. AdviceLeftOut is the number of
	// recommendations that do not match the filter.
	AdviceNote    string
	AdviceLeftOut int
	Grace         []fact
	WhatIf        whatIf
	Made          []fact
	Coverage      string
	Gaps          []gapRow
	GapsLeftOut   int
}

// fact is a name and a value. Code is set if the value is an identifier such as a checksum.
type fact struct {
	Name, Value string
	Code        bool
}

// section describes one incident.
type section struct {
	*api.Incident
	Number                                    int
	About, Began, Over, Lasted, Effect, ToFix string
	// Decided is the fact on which the verdict is based.
	Decided              string
	Held, Excluded, Open []reason
	Evidence             []evidence
	Effects              []effect
	Figures              []fact
	Windows              []window
	Timeline             *timeline.Drawing
}

// reason is a fact with the verdicts that it confirms, excludes or leaves open.
type reason struct {
	Verdicts []string
	Because  string
}

type evidence struct{ Time, Text string }

type effect struct{ Name, Lost, Back, Outages, Down string }

type window struct{ Length, Bounces, Stale string }

type gapRow struct{ Resources, From, To, Lasted, Reason, MayMiss string }

// documentOf returns the text of a report.
func documentOf(in *Input) document {
	d := document{Period: periodOf(in), Limits: limitsOf(in.Filter)}
	incidents := slices.Clone(in.Answer.Incidents)
	slices.SortStableFunc(incidents, func(a, b api.Incident) int { return a.Start.Compare(b.Start) })
	for i := range incidents {
		d.Incidents = append(d.Incidents, sectionOf(i+1, &incidents[i], in.Answer.AsOf))
	}
	d.Title = titleOf(in, d.Incidents)
	d.Coverage = coverageText(in)
	d.Summary = summaryOf(in, d.Incidents, d.Coverage)
	d.advise(in)
	d.WhatIf = whatIfOf(in)
	d.Made = madeOf(in)
	d.addGaps(in)
	return d
}

// moment formats a time in UTC to a tenth of a second.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.0") }

func titleOf(in *Input, sections []section) string {
	counted := slices.DeleteFunc(slices.Clone(sections), func(s section) bool { return s.Withdrawn != "" })
	about := noneTitle(in)
	switch {
	case len(counted) == 1:
		about = counted[0].About
	case len(counted) > 1:
		about = fmt.Sprintf("%d incidents", len(counted))
	}
	begin := in.From
	if begin.IsZero() && len(counted) > 0 {
		begin = counted[0].Start
	}
	day, last := begin.UTC().Format(time.DateOnly), in.To.UTC().Format(time.DateOnly)
	switch {
	case begin.IsZero():
		day = "until " + last
	case day != last:
		day += " to " + last
	}
	return "Post-mortem: " + about + ", " + day
}

// noneTitle returns the title of a report without incidents. It is "no incidents" only if kubeflap watched all
// resources for the whole period.
func noneTitle(in *Input) string {
	c := &in.Answer.Coverage
	switch {
	case c.Since != nil && in.To.Before(*c.Since), in.From.After(in.Answer.AsOf):
		return "not watched"
	case c.Since == nil, len(missingReasons(in)) > 0:
		return "no known incidents"
	}
	return "no incidents"
}

func periodOf(in *Input) string {
	if in.From.IsZero() {
		return "all that kubeflap remembers, until " + moment(in.To) + " UTC"
	}
	return moment(in.From) + " to " + moment(in.To) + " UTC (" + phrase.Duration(in.To.Sub(in.From)) + ")"
}

func limitsOf(f Filter) string {
	var all []string
	add := func(what, name string) {
		if name != "" {
			all = append(all, what+" "+name)
		}
	}
	if f.Service != "" {
		add("incidents that affected Service", f.Namespace+"/"+f.Service)
	} else {
		add("incidents that affected a Service in the namespace", f.Namespace)
	}
	add("incidents that affected node", f.Node)
	add("cluster", f.Cluster)
	return strings.Join(all, "; ")
}

func sectionOf(number int, x *api.Incident, asOf time.Time) section {
	s := section{
		Incident: x, Number: number, About: aboutOf(x), Began: moment(x.Start), Over: "ongoing", Lasted: seconds(x.DurationSeconds),
		Effect: effectOf(x), ToFix: toFix(x.Verdict), Timeline: draw(x, asOf), Figures: figuresOf(x),
	}
	switch {
	case x.End != nil:
		s.Over = moment(*x.End)
	default:
		s.Lasted += " so far"
	}
	if x.Withdrawn != "" {
		s.ToFix = "nothing: kubeflap withdrew this incident"
	}
	for _, h := range x.Considered {
		switch h.Holds {
		case verdict.Yes.String():
			s.Held = addHypothesis(s.Held, &h)
			if h.Verdict == x.Verdict {
				s.Decided = h.Because
			}
		case verdict.No.String():
			s.Excluded = addHypothesis(s.Excluded, &h)
		default:
			s.Open = addHypothesis(s.Open, &h)
		}
	}
	for _, e := range x.Evidence {
		text := e.Text
		if lasted := e.Until.Sub(e.Time); lasted >= 100*time.Millisecond {
			text += ", within " + phrase.Duration(lasted)
		}
		s.Evidence = append(s.Evidence, evidence{moment(e.Time), text})
	}
	for _, service := range x.Services {
		s.Effects = append(s.Effects, effectRow(&service))
	}
	for _, w := range x.Numbers.Windows {
		s.Windows = append(s.Windows, window{seconds(w.Seconds), fmt.Sprint(w.Bounces), fmt.Sprint(w.StaleReadds)})
	}
	return s
}

func addHypothesis(all []reason, h *api.Hypothesis) []reason {
	for i := range all {
		if all[i].Because == h.Because {
			all[i].Verdicts = append(all[i].Verdicts, h.Verdict)
			return all
		}
	}
	return append(all, reason{[]string{h.Verdict}, h.Because})
}

// toFix returns the component to fix. For a verdict that only a newer kubeflap knows, it returns the verdict itself.
func toFix(name string) string {
	v, known := verdict.Parse(name)
	if !known {
		return name
	}
	return advice.ToFix(v)
}

// aboutOf returns an incident's subject with its kind and namespace.
func aboutOf(x *api.Incident) string {
	kind, name, ofKind := strings.Cut(x.Subject, "/")
	switch {
	case ofKind:
		return kind + " " + x.Namespace + "/" + name
	case x.Namespace != "":
		return "Service " + x.Namespace + "/" + x.Subject
	case x.Scope == "node":
		return "node " + x.Subject
	}
	return x.Subject
}

func seconds(n float64) string { return phrase.Duration(time.Duration(n * float64(time.Second))) }
