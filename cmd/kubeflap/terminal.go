package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// renewInterval is the interval at which a kubelet renews its Lease. The terminal does not print a heartbeat as late
// before this interval has passed, even if the grace period is short.
const renewInterval = 10 * time.Second

// remedyIndent and remedyWidth are the indentation of remedies, and the maximum width of their lines.
const (
	remedyIndent = 12
	remedyWidth  = 120
)

// terminal prints transitions and incidents in the order of detection. It prints an incident's remedy on a separate
// line.
type terminal struct {
	out io.Writer
	// `heading` is printed before the first line. If it is empty, the terminal prints the date before the first line of
	// each day. `day` is the last printed date.
	heading, day string
	// awaitsInitialState is set until the method printInitialState is called. Until then, `waiting` is the newest
	// transition about the grace period. printInitialState prints it.
	awaitsInitialState bool
	waiting            *transition.GracePeriodKnown
	// `last` is the time of the last line.
	last time.Time
	// `grace` is the last printed line about the grace period. The terminal does not print the same line twice in
	// succession.
	grace string
}

func (t *terminal) transition(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen, transition.AddressFollowedPod, transition.ConsumerBounced, transition.ConsumerReaddedStale:
		return
	case transition.HeartbeatLate:
		if x.Silence <= renewInterval {
			return
		}
	case transition.LeasesRead:
		if x.Reason == "" {
			return
		}
	case transition.GracePeriodKnown:
		text := x.String()
		if x.Interval == 0 || text == t.grace { // there are no nodes yet, or the line would be the same
			return
		}
		if t.awaitsInitialState { // the number of nodes must be printed first
			t.waiting = &x
			return
		}
		t.grace = text
	}
	t.line(x.FoundAt(), x.When(), x.String())
}

// incident prints a notice about an incident. After the last notice about an incident, it also prints the remedy.
func (t *terminal) incident(at time.Time, n incident.Notice) {
	t.line(at, at, incidentLine(n))
	over := n.Kind == incident.Dropped || n.Kind == incident.Ongoing || n.Kind == incident.Ended
	if x := &n.Incident; over && x.Remedy != "" && x.Withdrawn == "" {
		text := "Remedy: " + x.Remedy
		if x.WaitsFor != "" {
			text = x.WaitsFor + ". " + text
		}
		fmt.Fprintf(t.out, "%*s%s\n", remedyIndent, "", phrase.Wrap(text, remedyIndent, remedyWidth))
	}
}

// minDetectionDelay is the minimum delay between a change and its detection for which the terminal also prints the time
// of the change.
const minDetectionDelay = time.Second

// line prints a line with the time of detection and the text. If the change was detected late, it adds the time of the
// change.
func (t *terminal) line(found, when time.Time, text string) {
	if found.After(t.last) {
		t.last = found
	}
	if t.last.Sub(when) >= minDetectionDelay {
		text += " [happened at " + phrase.Clock(when) + "]"
	}
	t.head(t.last)
	fmt.Fprintf(t.out, "%s  %s\n", phrase.Clock(t.last), phrase.Line(text))
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

func incidentLine(n incident.Notice) string {
	x := &n.Incident
	switch n.Kind {
	case incident.Ended:
		if x.Withdrawn != "" {
			return "<<< " + x.Summary
		}
		return fmt.Sprintf("<<< RESOLVED after %s: %s Verdict: %s.", phrase.Duration(x.End.Sub(x.Start)), x.Summary, x.VerdictText)
	case incident.Merged:
		return fmt.Sprintf("<<< MERGED: %s %s is part of the incident of the %s", x.Scope, x.Subject, n.IntoSubject)
	case incident.Ongoing, incident.Dropped:
		return fmt.Sprintf("<<< STILL %s: %s Verdict: %s.", strings.ToUpper(string(x.State)), x.Summary, x.VerdictText)
	}
	return fmt.Sprintf(">>> INCIDENT: %s Verdict: %s.", x.Summary, x.VerdictText)
}
