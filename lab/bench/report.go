package main

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
		r.Size, runs(o.Runs), machine(), model.Duration(restFor), model.Duration(loadFor))
	all := map[string]Figures{}
	for name, runs := range r.Runs {
		all[name] = medians(runs)
	}
	columns := append([]string{""}, Programs()...)
	writeRow(&b, columns)
	writeRow(&b, slices.Repeat([]string{"---"}, len(columns)))
	for _, row := range rows() {
		if !row.onPage {
			continue
		}
		cells := []string{string(row.Figure)}
		for _, name := range Programs() {
			cells = append(cells, cell(all[name], row))
		}
		writeRow(&b, cells)
	}
	b.WriteString("\n" + r.targets(all) + "\n")
	writePart(r.Size.Name, b.String())
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

// target is the maximum of one of kubeflap's figures, or of a ratio, in clusters with at least the number of nodes in from.
// Of a ratio, base is the text that follows its value.
type target struct {
	what  string
	base  string
	value func(medians map[string]Figures) float64
	limit float64
	unit  unit
	from  int
}

// targets returns the targets for kubeflap in a cluster with a number of nodes.
func targets(nodes int) (all []target) {
	const fifth, medium, large = 0.2, 1000, 5000
	perEvent := 0.3
	relative := func(f Figure, to string, limit float64, from int) {
		all = append(all, target{string(f), fmt.Sprintf(" times that of `%s`", to), func(m map[string]Figures) float64 { return share(m[Kubeflap][f], m[to][f]) }, limit, ratio, from})
	}
	absolute := func(f Figure, limit float64, unit unit, from int) {
		all = append(all, target{string(f), "", func(m map[string]Figures) float64 { return m[Kubeflap][f] }, limit, unit, from})
	}
	relative(SteadyMemory, Peer, fifth, medium)
	relative(PeakMemory, Peer, fifth, medium)
	if nodes < large {
		relative(RestMemory, Floor, 1.3, medium) // the floor keeps no objects
	} else {
		perEvent = 0.6
	}
	relative(SyncedCPU, Floor, 0.5, medium)
	relative(EventCPU, Floor, perEvent, medium)
	for _, figure := range []Figure{Series, Scraped, ScrapedBytes} {
		relative(figure, Peer, fifth, 0)
	}
	all = append(all, target{string(BusyP99), " times the median", func(m map[string]Figures) float64 { return share(m[Kubeflap][BusyP99], m[Kubeflap][BusyMedian]) }, 2, ratio, 0})
	absolute(Shown, 0.05, seconds, 0)
	absolute(Scraped, 0.1, seconds, large)
	absolute(SyncedWall, 20, seconds, large)
	absolute(PeakMemory, 256<<20, mebibytes, large)
	return all
}

// share returns a ratio, or NaN if its base was not measured.
func share(value, base float64) float64 {
	if base == 0 {
		return math.NaN()
	}
	return value / base
}

// targets says how many targets were reached, and lists the others. Those that need a program that was not measured are
// left out.
func (r Result) targets(medians map[string]Figures) string {
	var missed []string
	total := 0
	for _, x := range targets(r.Size.Nodes) {
		value := x.value(medians)
		if math.IsNaN(value) || r.Size.Nodes < x.from {
			continue
		}
		total++
		switch {
		case value < 0: // a difference, such as EventCPU
			missed = append(missed, fmt.Sprintf("- %s: not measured, because the machine was too busy", x.what))
		case value > x.limit:
			missed = append(missed, fmt.Sprintf("- %s: %s%s (target: at most %s)", x.what, x.unit(value), x.base, x.unit(x.limit)))
		}
	}
	text := fmt.Sprintf("%d of %d targets are reached.", total-len(missed), total)
	if len(missed) > 0 {
		text += " These are missed:\n\n" + strings.Join(missed, "\n")
	}
	return text
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
func writePart(part, text string) {
	before, after := around(part)
	steps.Must(os.WriteFile(page, []byte(before+"\n"+text+"\n"+after), 0o644))
}

// around splits the page. It returns the text before a part and the text after it, including the markers of the part.
func around(part string) (before, after string) {
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->\n", part)
	before, rest, found := strings.Cut(string(steps.Value(os.ReadFile(page))), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		steps.Must(fmt.Errorf("write %s: no line %s followed by a line %s", page, strings.TrimSpace(begin), strings.TrimSpace(end)))
	}
	return before + begin, end + after
}
