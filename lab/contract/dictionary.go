// Package contract holds rules, dashboards and documentation to what kubeflap exposes.
package contract

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Root is the repository's, seen from this package.
const Root = "../.."

// Metric is one name as it stands in PromQL: of a histogram there are several.
type Metric struct {
	Type   string
	Labels []string
}

// ReadDictionary reads docs/metrics.md, which is generated from the declarations:
// every name that kubeflap exposes, with its labels.
func ReadDictionary() (map[string]Metric, error) {
	f, err := os.Open(filepath.Join(Root, "docs/metrics.md"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string]Metric{
		// It comes from prometheus/common, and stands in a sentence of the page.
		"kubeflap_build_info": {"gauge", []string{"branch", "goarch", "goos", "goversion", "revision", "tags", "version"}},
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "|")
		if !strings.HasPrefix(lines.Text(), "| `kubeflap_") {
			continue
		}
		if len(cells) != 8 {
			return nil, fmt.Errorf("docs/metrics.md: %d cells in the row %q", len(cells), lines.Text())
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

// quoted lists what stands between backquotes.
func quoted(cell string) []string {
	var all []string
	for i, s := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, s)
		}
	}
	return all
}
