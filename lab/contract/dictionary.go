// Package contract checks that rules, dashboards and documentation match what kubeflap exposes.
package contract

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root is the path of the repository, relative to this package.
const Root = "../.."

// Metric holds the type and the labels of a metric name in PromQL. A histogram has several metric names.
type Metric struct {
	Type   string
	Labels []string
}

// ReadDictionary returns every metric name that kubeflap exposes. It reads the names from docs/metrics.md, which is
// generated from the code.
func ReadDictionary() (map[string]Metric, error) {
	f, err := os.Open(filepath.Join(Root, "docs/metrics.md"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string]Metric{
		// The table in docs/metrics.md does not contain this metric, because prometheus/common declares it.
		"kubeflap_build_info": {"gauge", []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"}},
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "|")
		if !strings.HasPrefix(lines.Text(), "| `kubeflap_") {
			continue
		}
		if len(cells) != 8 {
			return nil, fmt.Errorf("docs/metrics.md: unexpected number of cells (%d) in the row %q", len(cells), lines.Text())
		}
		name := strings.Trim(cells[1], " `")
		m := Metric{Type: strings.TrimSpace(cells[2]), Labels: quoted(cells[3])}
		all[name] = m
		if m.Type == "histogram" {
			all[name+"_count"], all[name+"_sum"] = m, m
			all[name+"_bucket"] = Metric{m.Type, append([]string{"le"}, m.Labels...)}
		}
	}
	return all, lines.Err()
}

// quoted returns the strings between backquotes.
func quoted(cell string) []string {
	var all []string
	for i, s := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, s)
		}
	}
	return all
}
