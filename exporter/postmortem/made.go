package postmortem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
)

// advise adds the recommended settings. A report about one Service omits recommendations about other Services.
func (d *document) advise(in *Input) {
	if in.Advice == nil {
		d.AdviceNote = sentence("There is no advice on settings: " + in.NoAdvice)
		return
	}
	from := ""
	if started := in.Answer.Coverage.Started; in.Source.Recording == nil && started != nil {
		from = "from its last start at " + moment(*started) + " UTC " // a restart resets the metrics
	}
	d.AdviceNote = "The advice uses everything that kubeflap saw " + from + "until " + moment(in.Answer.AsOf) + " UTC. This includes times before and after the period, and nodes and Services without an incident."
	for _, x := range in.Advice.Recommendations {
		if in.Filter.matchesRecommendation(&x) {
			d.Advice = append(d.Advice, x)
		} else {
			d.AdviceLeftOut++
		}
	}
	h := &in.Advice.Heartbeats
	for _, f := range []struct {
		name  string
		value float64
	}{{"Grace period", h.Grace}, {"Longest heartbeat interval of the last ten minutes", h.Longest}, {"Typical heartbeat interval", h.Typical}, {"Recommended grace period", h.Recommended}} {
		if f.value > 0 {
			d.Grace = append(d.Grace, fact{Name: f.name, Value: seconds(f.value)})
		}
	}
	if h.GraceSource != "" && len(d.Grace) > 0 && h.Grace > 0 {
		d.Grace[0].Value += " (from: " + strings.ReplaceAll(h.GraceSource, "_", " ") + ")"
	}
}

// matchesRecommendation reports whether a recommendation matches the filter. A recommendation for the whole cluster
// always matches.
func (f Filter) matchesRecommendation(x *report.Recommendation) bool {
	switch {
	case x.Namespace == "" || f.Namespace == "":
		return x.Namespace == "" || f.Node == ""
	case x.Namespace != f.Namespace:
		return false
	case f.Service == "":
		return true
	case x.Service != "":
		return x.Service == f.Service
	}
	return len(x.Services) == 0 || slices.Contains(x.Services, f.Service)
}

// madeOf describes the source of the report and the program that made it.
func madeOf(in *Input) (all []fact) {
	add := func(name, value string) { all = append(all, fact{Name: name, Value: value}) }
	s := &in.Source
	add("kubeflap", cmp.Or(s.Version, "unknown version"))
	if s.Recording == nil {
		add("kubeflap that watched the cluster", cmp.Or(s.Server, "unknown version"))
	}
	if s.Recording != nil || len(s.Kubernetes) > 0 { // a running kubeflap does not report the Kubernetes version
		add("Kubernetes", cmp.Or(strings.Join(s.Kubernetes, ", then "), "unknown version"))
	}
	add("Period of the report", periodOf(in))
	add("Incidents", cmp.Or(limitsOf(in.Filter), "all in the period"))
	add("Watched from", orUnknown(in.Answer.Coverage.Since))
	add("Watched until", moment(in.Answer.AsOf)+" UTC")
	add("State as of", moment(in.Answer.AsOf)+" UTC. The report includes everything that was known at this time")
	r := s.Recording
	if r == nil {
		add("Made from", "the running kubeflap at "+s.URL)
		add("Checksum", "none, because a running kubeflap drops its oldest incidents. Use a recording for a reproducible report")
		return all
	}
	if r.Directory {
		add("Made from", "the recordings in the directory "+r.File)
	} else {
		add("Made from", "the recording "+r.File+fmt.Sprintf(" (%d bytes)", r.Size))
	}
	if r.Title != "" {
		add("Title of the recording", r.Title)
	}
	if r.Anonymised {
		add("Names", "pseudonyms, because the recording is anonymised")
	}
	if r.Damage != "" {
		add("Damage", "only the beginning of the recording could be replayed: "+r.Damage)
	}
	if r.Directory {
		add("Checksum", "none, because the files in a directory change. Use a recording for a reproducible report")
		return all
	}
	all = append(all, fact{Name: "SHA-256 of the recording", Value: r.SHA256, Code: true})
	return all
}
