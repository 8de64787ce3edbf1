package check

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	// maxShown is the maximum number of flaps in the text, so that it fits on one screen.
	maxShown = 4
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

// test is a test case of a JUnit report.
type test struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *failure `xml:"failure,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// tests returns a test for each flap, or one that passed, and one for the coverage.
func (r *Result) tests() (all []test) {
	for _, x := range r.Unexpected {
		all = append(all, test{"kubeflap.check", phrase.Line(x.What() + api.InCluster(x.Cluster)), &failure{phrase.Line(x.Impact), phrase.Text(x.why() + "\n" + x.Remedy)}})
	}
	if len(all) == 0 {
		all = append(all, test{"kubeflap.check", "no unexpected flap", nil})
	}
	coverage := test{"kubeflap.check", "coverage", nil}
	if r.IsBlind() {
		coverage.Failure = &failure{"kubeflap was blind", strings.Join(r.blindness(), "\n")}
	}
	return append(all, coverage)
}

// JUnit returns the result as a JUnit report.
func (r *Result) JUnit() string {
	suite := struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Time     float64  `xml:"time,attr"`
		Started  string   `xml:"timestamp,attr"`
		Cases    []test   `xml:"testcase"`
	}{Name: "kubeflap", Time: r.To.Sub(r.From).Seconds(), Started: r.From.UTC().Format("2006-01-02T15:04:05"), Cases: r.tests()}
	for _, x := range suite.Cases {
		if suite.Tests++; x.Failure != nil {
			suite.Failures++
		}
	}
	text, _ := xml.MarshalIndent(suite, "", "  ") // these types cannot fail
	return xml.Header + string(text) + "\n"
}

// GitHub returns annotations for a workflow of GitHub Actions, one for each failure.
func (r *Result) GitHub() (all string) {
	text := strings.NewReplacer("%", "%25", "\n", "%0A", "\r", "%0D")
	property := strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C")
	for _, x := range r.tests() {
		if x.Failure != nil {
			all += fmt.Sprintf("::error title=%s::%s\n", property.Replace(x.Failure.Message), text.Replace(x.Failure.Text))
		}
	}
	return all
}
