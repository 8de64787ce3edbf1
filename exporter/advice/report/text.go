package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// WriteText prints a report as text.
func WriteText(out io.Writer, r Report) {
	h := r.Heartbeats
	fmt.Fprintf(out, "%s, grace period %s, ", phrase.Count(h.Nodes, "node", "nodes"), orUnknown(h.Grace))
	if h.Observed == 0 {
		fmt.Fprintf(out, "no complete heartbeat interval observed\n") // the longest interval may be incomplete
	} else {
		fmt.Fprintf(out, "%s observed, the longest %s\n", phrase.Count(int(h.Observed), "heartbeat interval", "heartbeat intervals"), orUnknown(h.Longest))
	}
	for _, x := range r.Recommendations {
		// A recording may contain any names.
		fmt.Fprintf(out, "\n[%s] %s\n  set:      %s\n  observed: %s\n  advice:   %s\n  why:      %s\n", x.Severity, phrase.Line(title(x)), phrase.Line(x.Set), phrase.Line(x.Observed), phrase.Line(x.Advice), phrase.Line(x.Why))
	}
	if !r.Advice {
		fmt.Fprintln(out, "\nNothing to advise.")
	}
	writeGracePeriods(out, &r.GracePeriods)
	writeProfiles(out, r)
}

func writeGracePeriods(out io.Writer, t *controlplane.Table) {
	if len(t.Rows) == 0 {
		fmt.Fprintf(out, "\n%s\n", strings.Join(t.Notes, "\n"))
		return
	}
	fmt.Fprintf(out, "\nThe effect of other grace periods on all silences since %s:\n", t.Since.Format("2006-01-02 15:04:05 UTC"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  grace period\tsilences that turn a node Unknown\tready addresses lost\tdead node noticed after")
	for _, r := range t.Rows {
		fmt.Fprintf(table, "  %gs\t%s\t%s\t%gs\n", r.GracePeriod, r.Silences, r.Addresses, r.NoticedAfter)
	}
	_ = table.Flush() // the caller checks the errors of out
	for _, note := range t.Notes {
		fmt.Fprintf(out, "  %s\n", note)
	}
}

func title(x Recommendation) string {
	title := strings.ReplaceAll(x.Kind, "_", " ")
	switch {
	case x.Service != "":
		return title + ": " + x.Namespace + "/" + x.Service
	case x.Namespace != "":
		return title + ": " + x.Namespace
	}
	return title
}

func writeProfiles(out io.Writer, r Report) {
	fmt.Fprintf(out, "\nProfiles, and the status writes that each profile causes in a cluster with %s:\n", phrase.Count(r.Heartbeats.Nodes, "node", "nodes"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  profile\tstatus update\tmonitor period\tgrace period\teviction [1]\tstatus writes [2]\trenewals that fit [3]")
	for _, p := range r.Profiles {
		fits := fmt.Sprint(p.Renewals)
		if !p.Safe {
			fits += ": none may be missed"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%g a minute\t%s\n",
			p.Name, phrase.Duration(inSeconds(p.StatusUpdate)), phrase.Duration(inSeconds(p.Monitor)), phrase.Duration(inSeconds(p.Grace)), phrase.Duration(inSeconds(p.Eviction)), p.StatusWrites, fits)
	}
	_ = table.Flush() // the caller checks the errors of out
	fmt.Fprintf(out, `  [1] --pod-eviction-timeout was removed in v1.27. Since then, the tolerationSeconds of each pod apply: 300 s
      unless kube-apiserver has --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds.
  [2] If nodeStatusUpdateFrequency of the kubelets is set. Otherwise, an unchanged status is written every 5 minutes.
  [3] Since v1.14, a heartbeat is a Lease renewal. In this cluster, each node renews every %s, which makes %g writes a second in each profile.
      The default grace period is 40s up to v1.31, and 50s from v1.32.
`, phrase.Duration(inSeconds(r.Heartbeats.Expected)), r.Heartbeats.LeaseWrites)
}

func orUnknown(seconds float64) string {
	if seconds == 0 {
		return "unknown"
	}
	return phrase.Duration(inSeconds(seconds))
}

// rounded rounds a number of seconds to milliseconds, because finer digits differ from scrape to scrape.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

func inSeconds(s float64) time.Duration {
	return time.Duration(math.Round(s * float64(time.Second)))
}
