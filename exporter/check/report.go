package check

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	// maxShown is the maximum number of flaps in the text, so that it fits on one screen.
	maxShown = 3
	// width and indent are the maximum width of a line and the indentation of details.
	width, indent = 110, 4
)

// Text returns the result, on at most one screen.
func (r *Result) Text() string {
	var b strings.Builder
	what := "PASSED: no unexpected flap"
	if n := len(r.Unexpected); n > 0 {
		what = "FAILED: " + phrase.Count(n, "unexpected flap", "unexpected flaps")
	} else if r.IsBlind() {
		what = "FAILED: kubeflap was blind"
	}
	fmt.Fprintf(&b, "%s in %s from %s\n", what, phrase.Duration(r.To.Sub(r.From)), phrase.Moment(r.From))
	for _, x := range r.Unexpected[:min(len(r.Unexpected), maxShown)] {
		fmt.Fprintf(&b, "\n%s  %s\n", phrase.Clock(x.Start), phrase.Line(x.Impact))
		fmt.Fprintf(&b, "%*s%s\n%s", indent, "", phrase.Wrap(x.why(), indent, width), api.Steps(&x.Incident, indent, false))
	}
	if more := len(r.Unexpected) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\nand %d more: --junit=FILE writes all of them\n", more)
	}
	if notes := r.notes(); len(notes) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(notes, "\n"))
	}
	return b.String()
}

// notes says what else must be known of the result.
func (r *Result) notes() (all []string) {
	if r.Accepted > 0 {
		all = append(all, phrase.Count(r.Accepted, "incident was", "incidents were")+" expected.")
	}
	if r.Earlier > 0 {
		all = append(all, phrase.Count(r.Earlier, "incident", "incidents")+" had begun before, and nothing flapped again.")
	}
	return append(all, r.blindness()...)
}

// blindness says what kubeflap may have missed.
func (r *Result) blindness() (all []string) {
	if r.Blind > 0 {
		all = append(all, fmt.Sprintf("Not watched: %s for %s (%s allowed). Flaps in this time may be missing.",
			phrase.Line(r.BlindTo), phrase.Duration(r.Blind), phrase.Duration(r.AllowedBlind)))
	}
	return append(all, r.Missing...)
}

// why says why it happened.
func (x *Flap) why() string {
	return fmt.Sprintf("cause: %s, verdict: %s. %s", words(x.Cause), x.VerdictText, x.Summary)
}

// words returns the words of a label value.
func words(label fmt.Stringer) string { return strings.ReplaceAll(label.String(), "_", " ") }

// tests returns a test for each flap, or one that passed, and one for the coverage. Their names are unique.
func (r *Result) tests() (all []junit.Testcase) {
	add := func(name string, failure *junit.Result) {
		all = append(all, junit.Testcase{Classname: "kubeflap.check", Name: name, Failure: failure})
	}
	names := map[string]int{}
	for _, x := range r.Unexpected {
		name := phrase.Line(x.What() + api.InCluster(x.Cluster))
		if names[name]++; names[name] > 1 {
			name += fmt.Sprintf(" (%d)", names[name])
		}
		add(name, &junit.Result{Message: phrase.Line(x.Impact), Data: phrase.Text(x.why() + "\n" + x.Remedy)})
	}
	if len(all) == 0 {
		add("no unexpected flap", nil)
	}
	var failure *junit.Result
	if r.IsBlind() {
		failure = &junit.Result{Message: "kubeflap was blind", Data: strings.Join(r.blindness(), "\n")}
	}
	add("coverage", failure)
	return all
}

// JUnit returns the result as a JUnit report.
func (r *Result) JUnit() string {
	suite := junit.Testsuite{Name: "kubeflap", Time: fmt.Sprintf("%.3f", r.To.Sub(r.From).Seconds())}
	suite.SetTimestamp(r.From.UTC())
	for _, x := range r.tests() {
		suite.AddTestcase(x)
	}
	var report junit.Testsuites
	report.AddSuite(suite)
	var text strings.Builder
	_ = report.WriteXML(&text) // a string can be written
	return xml.Header + text.String()
}

// GitHub returns annotations for a workflow of GitHub Actions, one for each failure. Each begins a line, even if the output of
// a command before it ends without a line break.
func (r *Result) GitHub() (all string) {
	text := strings.NewReplacer("%", "%25", "\n", "%0A", "\r", "%0D")
	property := strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
	for _, x := range r.tests() {
		if x.Failure != nil {
			all += fmt.Sprintf("\n::error title=%s::%s\n", property.Replace(x.Failure.Message), text.Replace(x.Failure.Data))
		}
	}
	return all
}
