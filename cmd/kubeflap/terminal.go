package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// renewInterval is the interval at which a kubelet renews its Lease. The terminal does not print a heartbeat as late
// before this interval has passed, even if the grace period is short.
const renewInterval = 10 * time.Second

const (
	// stepIndent is the indentation of the first step below the line of an incident.
	stepIndent = 12
	// minDetectionDelay is the minimum delay between a change and its detection for which the terminal also prints the
	// time of the change.
	minDetectionDelay = time.Second
)

// terminal prints transitions and incidents in the order of detection. Below an incident, it prints the first step.
type terminal struct {
	out io.Writer
	// If brief is set, the terminal prints only the first of all transitions that are alike, and leftOut counts the others.
	// `printed` holds what was printed. The first step follows only at the end of an incident.
	brief   bool
	printed map[string]bool
	leftOut int
	// `told` holds the incidents as they were last printed, by ID, until they end.
	told map[string]incident.Incident
	// `heading` is printed before the first line. If it is empty, the terminal prints the date before the first line of
	// each day. `day` is the last printed date.
	heading, day string
	// `last` is the time of the last line.
	last time.Time
}

func newTerminal(out io.Writer) *terminal {
	return &terminal{out: out, printed: map[string]bool{}, told: map[string]incident.Incident{}}
}

func (t *terminal) transition(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen, transition.AddressFollowedPod, transition.ConsumerMistake, transition.GracePeriodKnown:
		return
	case transition.HeartbeatLate:
		if x.Silence <= renewInterval {
			return
		}
	case transition.LeasesRead:
		if x.Reason == "" {
			return
		}
	}
	kind := fmt.Sprintf("%T", x)
	if node, ok := x.(transition.NodeReadyChanged); ok {
		kind += node.To.String()
	}
	if t.brief && t.printed[kind] {
		t.leftOut++
		return
	}
	t.printed[kind] = true
	text := x.String()
	if incident.Later(x.FoundAt(), t.last).Sub(x.When()) >= minDetectionDelay {
		text += " [happened at " + phrase.Clock(x.When()) + "]"
	}
	t.line(x.FoundAt(), phrase.Line(text))
}

// incident prints a notice about an incident. If the incident was printed before, it prints only what has changed. At the
// end, it prints everything again, and all steps.
func (t *terminal) incident(at time.Time, n incident.Notice) {
	x, was := &n.Incident, t.told[n.Incident.ID]
	t.told[x.ID] = *x
	text := ">>> " + n.String()
	if n.IsLast() {
		text, was = "<<< "+n.String(), incident.Incident{}
		delete(t.told, x.ID)
	}
	switch {
	case n.Kind == incident.Merged:
		delete(t.told, x.ID)
		t.line(at, phrase.Line("<<< "+n.String()))
		return
	case x.Summary == was.Summary && x.VerdictText == was.VerdictText && x.FirstStep == was.FirstStep:
		return
	case x.Summary != was.Summary:
		text += ": " + strings.TrimSuffix(x.Summary, ".")
	}
	if x.VerdictText != was.VerdictText {
		text += ". Verdict: " + x.VerdictText
	}
	if n.IsLast() && t.leftOut > 0 {
		fmt.Fprintf(t.out, "%*s(and %s like these)\n", stepIndent, "", phrase.Count(t.leftOut, "change", "changes"))
		t.leftOut = 0
	}
	t.line(at, phrase.Wrap(text+".", stepIndent, api.StepWidth))
	if n.IsLast() || !t.brief && x.FirstStep != was.FirstStep {
		_, _ = io.WriteString(t.out, api.Steps(x, stepIndent, n.IsLast() && !t.brief)) // an error means that the terminal is gone
	}
}

// line prints a line with the time of detection. The text must be safe to print.
func (t *terminal) line(found time.Time, text string) {
	t.last = incident.Later(t.last, found)
	t.head(t.last)
	fmt.Fprintf(t.out, "%s  %s\n", phrase.Clock(t.last), text)
}

// head prints what precedes the next line.
func (t *terminal) head(next time.Time) {
	day, text := next.UTC().Format(time.DateOnly), ""
	switch {
	case t.heading == "" && day > t.day:
		text = day + " (UTC)"
	case t.day == "":
		text = t.heading
	}
	if text != "" {
		t.day = day
		fmt.Fprintln(t.out, text)
	}
}
