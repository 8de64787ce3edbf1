package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// WriteText prints a report as text.
func WriteText(out io.Writer, r Report) {
	h := r.Heartbeats
	grace, observed := "unknown", "no complete heartbeat interval observed" // the longest interval may be incomplete
	if h.Grace > 0 {
		grace = h.Grace.String()
	}
	if h.Observed > 0 {
		observed = fmt.Sprintf("%s observed, the longest %s", phrase.Count(int(h.Observed), "heartbeat interval", "heartbeat intervals"), h.Longest)
	}
	fmt.Fprintf(out, "%s, grace period %s, %s\n", phrase.Count(h.Nodes, "node", "nodes"), grace, observed)
	for _, x := range r.Recommendations {
		title := strings.ReplaceAll(x.Kind, "_", " ")
		if object := strings.TrimSuffix(x.Namespace+"/"+x.Service, "/"); object != "" {
			title += ": " + object
		}
		// A recording may contain any names.
		fmt.Fprintf(out, "\n[%s] %s\n  set:      %s\n  observed: %s\n  advice:   %s\n  why:      %s\n", x.Severity, phrase.Line(title), phrase.Line(x.Set), phrase.Line(x.Observed), phrase.Line(x.Advice), phrase.Line(x.Why))
	}
	if !r.Advice {
		fmt.Fprintln(out, "\nNothing to advise.")
	}
	writeGracePeriods(out, &r.GracePeriods)
	writeProfiles(out, &h)
}

func writeGracePeriods(out io.Writer, t *controlplane.Table) {
	if len(t.Rows) == 0 {
		fmt.Fprintf(out, "\n%s\n", strings.Join(t.Notes, "\n"))
		return
	}
	fmt.Fprintf(out, "\nThe effect of other grace periods on all silences since %s:\n", phrase.Moment(t.Since))
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

// profiles are well-known combinations of four settings. The last one, --pod-eviction-timeout, was removed in v1.27.
var profiles = []struct {
	name                                   string
	statusUpdate, monitor, grace, eviction time.Duration
}{
	{"default", 10 * time.Second, 5 * time.Second, 40 * time.Second, 5 * time.Minute},
	{"fast", 4 * time.Second, 2 * time.Second, 20 * time.Second, 30 * time.Second},
	{"medium", 20 * time.Second, 5 * time.Second, 2 * time.Minute, time.Minute},
	{"slow", time.Minute, 5 * time.Second, 5 * time.Minute, time.Minute},
}

// writeProfiles prints the profiles, with their effects in the cluster.
func writeProfiles(out io.Writer, h *Heartbeats) {
	fmt.Fprintf(out, "\nProfiles, and the status writes that each profile causes in a cluster with %s:\n", phrase.Count(h.Nodes, "node", "nodes"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  profile\tstatus update\tmonitor period\tgrace period\teviction [1]\tstatus writes [2]\trenewals that fit [3]")
	for _, p := range profiles {
		n := renewals(advice.GracePeriod{Period: p.grace, Interval: time.Duration(h.Expected)})
		fits := fmt.Sprint(n)
		if n < 2 {
			fits += ": none may be missed"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%d a minute\t%s\n",
			p.name, phrase.Duration(p.statusUpdate), phrase.Duration(p.monitor), phrase.Duration(p.grace), phrase.Duration(p.eviction), h.Nodes*int(time.Minute/p.statusUpdate), fits)
	}
	_ = table.Flush() // the caller checks the errors of out
	fmt.Fprintf(out, `  [1] --pod-eviction-timeout was removed in v1.27. Since then, the tolerationSeconds of each pod apply: 300 s
      unless kube-apiserver has --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds.
  [2] If nodeStatusUpdateFrequency of the kubelets is set. Otherwise, an unchanged status is written every 5 minutes.
  [3] Since v1.14, a heartbeat is a Lease renewal. In this cluster, each node renews every %s with each profile.
      The default grace period is 40s up to v1.31, and 50s from v1.32.
`, h.Expected)
}
