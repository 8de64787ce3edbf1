package contract

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// measured returns a figure of kubeflap in a table that make bench wrote, and the size of the cluster.
func measured(t *testing.T, page, size, figure string) (value, cluster string) {
	t.Helper()
	_, part, _ := strings.Cut(page, "<!-- bench "+size+" -->\n")
	part, _, found := strings.Cut(part, "<!-- end of bench "+size+" -->")
	head := regexp.MustCompile(`(?m)^([\d,]+ nodes, [\d,]+ pods), [\d,]+ Services\.`).FindStringSubmatch(part)
	columns := regexp.MustCompile(`(?m)^\|  \| (.*) \|$`).FindStringSubmatch(part)
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(figure) + ` \| (.*) \|$`).FindStringSubmatch(part)
	if !found || head == nil || columns == nil || row == nil {
		t.Fatalf("docs/performance.md has no figure %q for size %s", figure, size)
	}
	cells := strings.Split(row[1], " | ")
	for i, program := range strings.Split(columns[1], " | ") {
		if program == "kubeflap" {
			return cells[i], head[1]
		}
	}
	t.Fatalf("docs/performance.md has no column for kubeflap at size %s", size)
	return "", ""
}

// The costs in the README must be the measured ones.
func TestReadmeHasTheMeasuredCosts(t *testing.T) {
	page := readFile(t, "docs/performance.md")
	memory, cluster := measured(t, page, "medium", "Memory while scraped")
	cpu, _ := measured(t, page, "medium", "CPU per minute at rest")
	nodes, pods, _ := strings.Cut(cluster, ", ")
	want := fmt.Sprintf("[measured](docs/performance.md) %s of memory and %s of CPU time per minute for %s and %s;", memory, cpu, nodes, pods)
	if !strings.Contains(readFile(t, "README.md"), want) {
		t.Errorf("README.md does not contain %q", want)
	}
}

// The recommended memory must cover the measured peak: the request, and one and a half times as much as a limit.
func TestSizingCoversTheMeasuredPeaks(t *testing.T) {
	page := readFile(t, "docs/performance.md")
	for _, size := range []string{"small", "medium", "large"} {
		peak, cluster := measured(t, page, size, "Peak memory overall")
		row := regexp.MustCompile(`(?m)^\| ` + cluster + `, [^|]*\| (\d+) MiB \| (\d+) MiB \|`).FindStringSubmatch(page)
		if row == nil {
			t.Errorf("the table of sizes has no row for %s", cluster)
			continue
		}
		used := mebibytes(t, peak)
		if request, limit := mebibytes(t, row[1]+" MiB"), mebibytes(t, row[2]+" MiB"); request < used || limit < used*3/2 {
			t.Errorf("%s: %s were measured, but the request is %d MiB and the limit %d MiB", cluster, peak, request, limit)
		}
	}
}

func mebibytes(t *testing.T, text string) int {
	t.Helper()
	n := try(strconv.Atoi(strings.TrimSuffix(text, " MiB")))(t)
	return n
}
