package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// renewInterval is how often a kubelet renews its Lease. With a grace period below 20 s, every interval lasts longer than half of it.
const renewInterval = 10 * time.Second

// terminal prints transitions and incidents in the order in which they were found. The remedy of an incident has a line of its own.
type terminal struct {
	out io.Writer
	// last is the time of the last line.
	last time.Time
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
		if x.Interval == 0 { // nothing is known of the nodes yet
			return
		}
	}
	t.line(x.Found(), x.When(), x.String())
}

// incident prints the start of an incident and each change of its cause or scope, and its remedy at its end or the recording's.
func (t *terminal) incident(at time.Time, n incident.Notice) {
	t.line(at, at, incidentLine(n))
	over := n.Kind == incident.Dropped || n.Kind == incident.Ongoing || n.Kind == incident.Ended
	if x := &n.Incident; over && x.Remedy != "" && x.Withdrawn == "" {
		fmt.Fprintf(t.out, "            Remedy: %s\n", printable.Line(x.Remedy))
	}
}

// line prints what was found, and adds the time of the change if it was earlier.
func (t *terminal) line(found, when time.Time, text string) {
	if found.After(t.last) {
		t.last = found
	}
	shown := clockTime(t.last)
	if at := clockTime(when); at != shown {
		text += " (at " + at + ")"
	}
	fmt.Fprintf(t.out, "%s  %s\n", shown, printable.Line(text))
}

func incidentLine(n incident.Notice) string {
	x := &n.Incident
	switch n.Kind {
	case incident.Ended:
		if x.Withdrawn != "" {
			return "<<< " + x.Summary
		}
		return fmt.Sprintf("<<< OVER after %s: verdict %s. %s", x.End.Sub(x.Start).Round(100*time.Millisecond), x.Verdict, x.Summary)
	case incident.Merged:
		return fmt.Sprintf("<<< PART OF ANOTHER: %s %s", x.Scope, x.Subject)
	case incident.Dropped, incident.Ongoing:
		return fmt.Sprintf("<<< STILL %s: verdict %s. %s", strings.ToUpper(string(x.State)), x.Verdict, x.Summary)
	}
	return fmt.Sprintf(">>> INCIDENT, verdict %s: %s", x.Verdict, x.Summary)
}

// clockTime formats a time for the terminal, in UTC.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.0") }

// lockedWriter serialises the lines of a replay and those of its pipelines.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
