package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

const (
	// maxShown is the maximum number of flaps in the text, so that it fits on one screen.
	maxShown = 6
	// width and indent are the maximum width of a line and the indentation of details.
	width, indent = 110, 4
)

// Text prints the result on at most one screen.
func (r *Result) Text(out io.Writer) error {
	var b strings.Builder
	period := fmt.Sprintf("%s from %s", phrase.Duration(r.To.Sub(r.From)), phrase.Moment(r.From))
	switch n := len(r.Unexpected); {
	case n > 0:
		fmt.Fprintf(&b, "FAILED: %s in %s\n", phrase.Count(n, "unexpected flap", "unexpected flaps"), period)
	case r.IsBlind():
		fmt.Fprintf(&b, "FAILED: kubeflap was blind in %s\n", period)
	default:
		fmt.Fprintf(&b, "PASSED: no unexpected flap in %s\n", period)
	}
	for i := range r.Unexpected[:min(len(r.Unexpected), maxShown)] {
		x := &r.Unexpected[i]
		fmt.Fprintf(&b, "\n%s  %s\n", phrase.Clock(x.Start), phrase.Line(x.Impact))
		fmt.Fprintf(&b, "%*s%s\n", indent, "", phrase.Wrap(x.why(), indent, width))
		fmt.Fprintf(&b, "%*s%s\n", indent, "", phrase.Wrap("First: "+firstStep(x.Remedy), indent, width))
	}
	if more := len(r.Unexpected) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\nand %d more: see --junit\n", more)
	}
	for _, line := range r.notes() {
		fmt.Fprintln(&b, line)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// notes says what else must be known of the result.
func (r *Result) notes() (all []string) {
	if r.Accepted > 0 {
		all = append(all, phrase.Count(r.Accepted, "incident was", "incidents were")+" expected.")
	}
	if r.Earlier > 0 {
		all = append(all, phrase.Count(r.Earlier, "incident", "incidents")+" had begun before and did not flap again.")
	}
	all = append(all, r.blindness()...)
	if len(all) > 0 {
		all[0] = "\n" + all[0]
	}
	return all
}

// blindness says what kubeflap may have missed.
func (r *Result) blindness() (all []string) {
	if r.Blind > 0 {
		all = append(all, fmt.Sprintf("Not watched: %s for %s (%s allowed). Flaps in this time may be missing.",
			r.BlindTo, phrase.Duration(r.Blind), phrase.Duration(r.AllowedBlind)))
	}
	return append(all, r.Missing...)
}

// why says why it happened.
func (x *Flap) why() string {
	return fmt.Sprintf("cause %s, verdict %s. %s", words(x.Cause), words(x.Verdict), x.Summary)
}

// words returns the words of a label value.
func words(label string) string { return strings.ReplaceAll(label, "_", " ") }

// firstStep returns the first sentence of a remedy.
func firstStep(remedy string) string {
	if i := strings.Index(remedy, ". "); i > 0 {
		return remedy[:i+1]
	}
	return remedy
}

// GitHub prints annotations for a workflow of GitHub Actions, one for each flap.
func (r *Result) GitHub(out io.Writer) {
	for i := range r.Unexpected {
		x := &r.Unexpected[i]
		fmt.Fprintf(out, "::error title=%s::%s\n", property(x.Impact), data(x.why()+"\n"+x.Remedy))
	}
	if r.IsBlind() {
		fmt.Fprintf(out, "::error title=kubeflap was blind::%s\n", data(strings.Join(r.blindness(), " ")))
	}
}

// data escapes the text of a workflow command, and property the value of one of its properties.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\n", "%0A", "\r", "%0D").Replace(phrase.Text(s))
}
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Time     float64  `xml:"time,attr"`
	Started  string   `xml:"timestamp,attr"`
	Cases    []test   `xml:"testcase"`
}

type test struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *failure `xml:"failure,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the result as a JUnit report. It has a test for each flap, and one for the
// coverage.
func (r *Result) JUnit(out io.Writer) error {
	s := suite{Name: "kubeflap", Time: r.To.Sub(r.From).Seconds(), Started: r.From.UTC().Format("2006-01-02T15:04:05")}
	add := func(name string, f *failure) {
		s.Cases = append(s.Cases, test{"kubeflap.check", name, f})
		if s.Tests++; f != nil {
			s.Failures++
		}
	}
	for i := range r.Unexpected {
		x := &r.Unexpected[i]
		add(phrase.Line(x.What()), &failure{phrase.Line(x.Impact), phrase.Text(x.why() + "\n" + x.Remedy)})
	}
	if len(r.Unexpected) == 0 {
		add("no unexpected flap", nil)
	}
	var blind *failure
	if r.IsBlind() {
		blind = &failure{"kubeflap was blind", strings.Join(r.blindness(), " ")}
	}
	add("coverage", blind)
	text, err := xml.MarshalIndent(s, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}
