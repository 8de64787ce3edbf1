package bench

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// write adds the figures of one size to the page, and says which targets were missed. The log has all figures.
func (r Result) write(o *Options) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s on %s. Measured for %s at rest and %s under load.\n\n",
		r.Size, runs(o.Runs), machine(), model.Duration(o.Pace.Rest), model.Duration(o.Pace.Load))
	all := map[string]Figures{}
	for name, runs := range r.Runs {
		all[name] = medians(runs)
	}
	columns := append([]string{""}, o.Programs...)
	writeRow(&b, columns)
	writeRow(&b, slices.Repeat([]string{"---"}, len(columns)))
	for _, row := range rows() {
		if !row.onPage {
			continue
		}
		cells := []string{string(row.Figure)}
		for _, name := range o.Programs {
			cells = append(cells, cell(all[name], row))
		}
		writeRow(&b, cells)
	}
	b.WriteString("\n" + r.targets() + "\n")
	writePart(o.Page, r.Size.Name, b.String())
}

func cell(figures Figures, row row) string {
	value, measured := figures[row.Figure]
	if !measured {
		return ""
	}
	return row.unit(value)
}

func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

func runs(n int) string {
	if n == 1 {
		return "One run"
	}
	return fmt.Sprintf("Medians of %d runs", n)
}

// bound is a target: the maximum value of one of kubeflap's figures.
type bound struct {
	Figure
	// If the field "of" is set, it names a program, and the limit is relative to that program's figure. If the field
	// "than" is set, the limit is relative to that figure of kubeflap. If neither is set, the limit is absolute.
	of    string
	than  Figure
	limit float64
	unit  unit
	// The target applies to clusters with at least this number of nodes.
	from int
}

// bounds returns the targets for kubeflap.
func bounds() []bound {
	const fifth, medium, large = 0.2, 1000, 5000
	all := []bound{
		{Figure: SteadyMemory, of: Peer, limit: fifth, from: medium},
		{Figure: PeakMemory, of: Peer, limit: fifth, from: medium},
		{Figure: SyncedCPU, of: Floor, limit: 0.7},
		{Figure: EventCPU, of: Floor, limit: 0.7},
	}
	for _, figure := range []Figure{Series, Scraped, ScrapedBytes} {
		all = append(all, bound{Figure: figure, of: Peer, limit: fifth})
	}
	return append(all,
		bound{Figure: BusyP99, than: BusyMedian, limit: 2},
		bound{Figure: Shown, limit: 0.05, unit: seconds},
		bound{Figure: Scraped, limit: 0.1, unit: seconds, from: large},
		bound{Figure: SyncedWall, limit: 20, unit: seconds, from: large},
		bound{Figure: PeakMemory, limit: 256 << 20, unit: mebibytes, from: large},
	)
}

// targets says how many targets were reached, and lists the others.
func (r Result) targets() string {
	var missed []string
	total := 0
	for _, b := range bounds() {
		if text, applies, ok := b.check(r); applies {
			total++
			if !ok {
				missed = append(missed, text)
			}
		}
	}
	text := fmt.Sprintf("%d of %d targets are reached.", total-len(missed), total)
	if len(missed) > 0 {
		text += " Missed: " + strings.Join(missed, "; ") + "."
	}
	return text
}

// check reports whether the target applies to this size, and whether the median of the runs reaches it. The text
// contains the median and the limit.
func (b bound) check(r Result) (text string, applies, ok bool) {
	var values []float64
	// broken is true if a figure is negative. Figures that are differences, such as EventCPU, can be negative if the
	// machine is too busy.
	broken := false
	for run, figures := range r.Runs[Kubeflap] {
		value, base := figures[b.Figure], 1.0
		switch {
		case b.of != "" && run < len(r.Runs[b.of]):
			base = r.Runs[b.of][run][b.Figure]
		case b.of != "":
			base = 0
		case b.than != "":
			base = figures[b.than]
		}
		broken = broken || value < 0 || base < 0
		if base != 0 {
			values = append(values, value/base)
		}
	}
	if len(values) == 0 || r.Size.Nodes < b.from {
		return "", false, false
	}
	what, unit := string(b.Figure), b.unit
	switch {
	case b.of != "":
		what, unit = fmt.Sprintf("%s, relative to %s", what, b.of), ratio
	case b.than != "":
		what, unit = what+", relative to the median", ratio
	}
	if broken {
		return what + " (not measured, because the machine was too busy)", true, false
	}
	return fmt.Sprintf("%s: %s (limit %s)", what, unit(median(values)), unit(b.limit)), true, median(values) <= b.limit
}

// machine returns a description of this computer and of the program versions.
func machine() string {
	memory := steps.Value(steps.Value(procfs.NewDefaultFS()).Meminfo())
	return fmt.Sprintf("%d cores with %.0f GiB (%s/%s), %s, kube-apiserver %s, kube-state-metrics %s", runtime.NumCPU(),
		math.Round(float64(*memory.MemTotalBytes)/(1<<30)), runtime.GOOS, runtime.GOARCH, runtime.Version(), cluster.Newest, PeerVersion)
}

// partRecorder is the name of a part of the page. The page also has a part for each Size, with the name of that Size.
const partRecorder = "recorder"

func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// writePart replaces the text between the two markers of a part of the page.
func writePart(path, part, text string) {
	before, after := around(path, part)
	steps.Must(os.WriteFile(path, []byte(before+"\n"+text+"\n"+after), 0o644))
}

// around splits the page. It returns the text before a part and the text after it, including the markers of the part.
func around(path, part string) (before, after string) {
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->\n", part)
	before, rest, found := strings.Cut(string(steps.Value(os.ReadFile(path))), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		steps.Must(fmt.Errorf("write %s: no line %s followed by a line %s", path, strings.TrimSpace(begin), strings.TrimSpace(end)))
	}
	return before + begin, end + after
}
