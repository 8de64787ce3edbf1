package answer

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/printable"
)

// width is the maximum number of characters in a line of text.
const width = 100

// WriteText prints the answer as a table with lines of at most 100 characters. name is the recording's name.
func WriteText(out io.Writer, a Answer, name string) {
	fmt.Fprintf(out, "Recording %s: %s to %s UTC (%s), %s.\n", name, a.From.UTC().Format(time.DateTime), a.To.UTC().Format(time.TimeOnly),
		phrase.Duration(a.To.Sub(a.From)), phrase.Count(a.Nodes, "node", "nodes"))
	if a.NoPrediction != "" {
		fmt.Fprintf(out, "There is no prediction for other settings: %s.\n", a.NoPrediction)
		return
	}
	writeRecorded(out, a)
	writeTable(out, a)
	writeNotes(out, a)
}

func writeRecorded(out io.Writer, a Answer) {
	r := a.Recorded
	how := ""
	if !r.Certain {
		how = " (assumed)"
	}
	fmt.Fprintf(out, "Recorded with a grace period of %s%s and a monitor period of %s:\n", inSeconds(r.GracePeriodSeconds), how, inSeconds(r.MonitorPeriodSeconds))
	fmt.Fprintf(out, "  %s to Unknown and %d back, %s lost, %s of %s s, %s.\n",
		phrase.Count(r.NodesUnknown, "transition", "transitions"), r.NodesBack, phrase.Count(r.AddressesLost, "address", "addresses"),
		phrase.Count(r.Outages, "outage", "outages"), number(r.OutageSeconds), phrase.Count(r.Evictions, "eviction", "evictions"))
	if c := a.Check; c != nil && c.Right+c.Wrong+c.TooClose+c.Unknown > 0 {
		fmt.Fprintf(out, "  Model check: %d of %d silences predicted correctly, %d too close to predict, %d unknown.\n",
			c.Right, c.Right+c.Wrong, c.TooClose, c.Unknown)
	}
	if warning := a.Contradiction(); warning != "" {
		fmt.Fprintln(out, "  "+warning)
	}
}

// column is a column of the table.
type column struct {
	// head is the heading, on two lines.
	head [2]string
	// name is the heading in pages and reports.
	name string
	cell func(Row) string
	// If fixed is set, the column is omitted when all its values are equal.
	fixed bool
}

var columns = []column{
	{[2]string{"GRACE", "PERIOD"}, "grace period", func(r Row) string { return inSeconds(r.GracePeriodSeconds) }, false},
	{[2]string{"MONITOR", "PERIOD"}, "monitor period", func(r Row) string { return inSeconds(r.MonitorPeriodSeconds) }, true},
	{[2]string{"TOLER-", "ATION"}, "toleration", toleration, true},
	{[2]string{"CLIENT", "WINDOW"}, "client window", func(r Row) string { return inSeconds(r.WindowSeconds) }, true},
	{[2]string{"TO", "UNKNOWN"}, "to Unknown", func(r Row) string { return r.NodesUnknown.String() }, false},
	{[2]string{"", "NEEDLESS"}, "needless", func(r Row) string { return r.Needless.String() }, false},
	{[2]string{"ADDRESSES", "LOST"}, "addresses lost", func(r Row) string { return r.AddressesLost.String() }, false},
	{[2]string{"OUTAGE", "SECONDS"}, "outage seconds", func(r Row) string { return r.OutageSeconds.String() }, false},
	{[2]string{"PODS", "EVICTED"}, "pods evicted", func(r Row) string { return r.Evictions.String() }, false},
	{[2]string{"CLIENT", "BOUNCES"}, "client bounces", func(r Row) string { return r.ClientBounces.String() }, true},
	{[2]string{"FAILURES", "FOUND IN"}, "failures found in", found, false},
	{[2]string{"TRAFFIC TO", "DEAD NODES"}, "traffic to dead nodes", func(r Row) string { return r.TrafficSeconds.String() + "s" }, false},
	{[2]string{"", ""}, "", remark, false},
}

func toleration(r Row) string {
	if r.TolerationSeconds == nil {
		return "recorded"
	}
	return inSeconds(*r.TolerationSeconds)
}

func found(r Row) string {
	if r.FailuresFound == 0 {
		return "-"
	}
	for _, t := range r.Transitions {
		if t.Failed && t.Predicted == Yes && t.Earliest.Before(t.Latest) {
			return "<" + inSeconds(r.FoundAfterSeconds)
		}
	}
	return inSeconds(r.FoundAfterSeconds)
}

func remark(r Row) string {
	var all []string
	switch {
	case r.Assumed:
		all = append(all, "assumed")
	case r.Recorded:
		all = append(all, "recorded")
	}
	if r.Knee {
		all = append(all, "knee")
	}
	return strings.Join(all, ", ")
}

func writeTable(out io.Writer, a Answer) {
	var lines [][]string
	for range len(a.Settings) + 2 {
		lines = append(lines, nil)
	}
	for _, c := range columns {
		if c.fixed && isConstant(c, a.Settings) {
			continue
		}
		cells := c.head[:]
		for _, r := range a.Settings {
			cells = append(cells, c.cell(r))
		}
		width := 0
		for _, cell := range cells {
			width = max(width, len(cell))
		}
		for i, cell := range cells {
			lines[i] = append(lines[i], fmt.Sprintf("%*s", width, cell))
		}
	}
	fmt.Fprintln(out)
	for _, line := range lines {
		last := len(line) - 1
		line[last] = strings.TrimSpace(line[last])
		fmt.Fprintln(out, strings.TrimRight(strings.Join(line, "  "), " "))
	}
}

func isConstant(c column, rows []Row) bool {
	for _, r := range rows {
		if c.cell(r) != c.cell(rows[0]) {
			return false
		}
	}
	return true
}

func writeNotes(out io.Writer, a Answer) {
	fmt.Fprint(out, `
NEEDLESS: transitions of nodes that came back by themselves. A range, such as 0-8, gives the lowest
and the highest possible number. For some silences, the recording does not show whether the node
would have turned Unknown: the controller acts up to one monitor period late, or the recording is
incomplete. TRAFFIC TO DEAD NODES: how long addresses of failed nodes stay in rotation, summed over
the addresses.
`)
	switch text := a.KneeText(); {
	case text != "":
		fmt.Fprintln(out, printable.Wrap(text, 0, width))
	case !a.Depends():
		fmt.Fprintln(out, "No silence was long enough for another grace period to make a difference.")
	}
	fmt.Fprintln(out, "\nThe recording does not show:")
	for _, text := range a.CannotSay {
		fmt.Fprintln(out, "- "+printable.Wrap(text, 2, width))
	}
}

func kneeOf(rows []Row) string {
	for _, r := range rows {
		if !r.Knee {
			continue
		}
		var all []string
		for i, name := range []string{"grace period ", "monitor period ", "toleration ", "client window "} {
			if i == 0 || !isConstant(columns[i], rows) {
				all = append(all, name+columns[i].cell(r))
			}
		}
		return strings.Join(all, ", ")
	}
	return ""
}

// String returns the range, or a single number if both bounds are equal.
func (r Range) String() string {
	if r.AtLeast == r.AtMost {
		return number(r.AtLeast)
	}
	return number(r.AtLeast) + "-" + number(r.AtMost)
}

func number(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// inSeconds formats a number of seconds, such as 40s or 0.5s.
func inSeconds(x float64) string { return number(x) + "s" }
