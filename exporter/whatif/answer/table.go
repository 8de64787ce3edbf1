package answer

import "slices"

// Table is an answer as a table, for pages and reports.
type Table struct {
	// Heads holds the heading of each column.
	Heads []string
	Rows  []TableRow
}

// TableRow is a row of a Table, for one of the settings.
type TableRow struct {
	Cells []string
	// Remark contains "recorded" or "assumed" if the row has the recorded settings, and "knee" if Knee is set.
	Remark string
	Knee   bool
}

// Note is the explanation below the table.
const Note = "Needless: transitions of nodes that came back by themselves. A range, such as 0-8, gives the lowest and the highest possible number. For " +
	"some silences, the recording does not show whether the node would have turned Unknown: the controller acts up to one monitor period late, " +
	"or the recording is incomplete. Traffic to dead nodes: how long addresses of failed nodes stay in rotation, summed over the addresses."

// Table returns the answer as a table. It omits a column if column.fixed is set and all rows have the same value.
func (a *Answer) Table() (t Table) {
	t.Rows = make([]TableRow, len(a.Settings))
	for i, r := range a.Settings {
		t.Rows[i].Remark, t.Rows[i].Knee = remark(r), r.Knee
	}
	for _, c := range columns {
		if c.name == "" || c.fixed && isConstant(c, a.Settings) {
			continue
		}
		t.Heads = append(t.Heads, c.name)
		for i, r := range a.Settings {
			t.Rows[i].Cells = append(t.Rows[i].Cells, c.cell(r))
		}
	}
	return t
}

// Depends reports whether the settings make a difference. They do if a node failed, became Unknown in the recording, or
// could become Unknown with one of the settings.
func (a *Answer) Depends() bool {
	return slices.ContainsFunc(a.Settings, func(r Row) bool {
		return slices.ContainsFunc(r.Transitions, func(t Transition) bool { return t.Recorded || t.Failed || t.Predicted != No })
	})
}

// Contradiction returns a warning if the grace period that the user specified differs from the one in the controller
// manager's pod. Otherwise, it returns an empty string.
func (a *Answer) Contradiction() string {
	if a.Recorded.ManagerGracePeriodSeconds == 0 {
		return ""
	}
	return "Warning: the grace period was specified as " + inSeconds(a.Recorded.GracePeriodSeconds) +
		", but the recorded kube-controller-manager has " + inSeconds(a.Recorded.ManagerGracePeriodSeconds) + "."
}

// KneeText returns a sentence about the knee, or an empty string if no row is marked.
func (a *Answer) KneeText() string {
	if knee := kneeOf(a.Settings); knee != "" {
		return "Knee: " + knee + ". No other row has fewer needless transitions, losses, outage seconds, evictions or bounces."
	}
	return ""
}
