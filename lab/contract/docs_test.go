package contract

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
)

// files holds the text files of the repository, by path.
var files = sync.OnceValues(func() (map[string]string, error) {
	all := map[string]string{}
	binary := []string{".gz", ".jsonl", ".webp", ".sum", ".bin", ".pb"}
	return all, filepath.WalkDir(Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || slices.Contains(binary, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
})

// pages returns all Markdown files, and texts all others.
func pages(t *testing.T) map[string]string {
	return filesThatAre(t, func(ext string) bool { return ext == ".md" })
}

func texts(t *testing.T) map[string]string {
	return filesThatAre(t, func(ext string) bool { return ext != ".md" })
}

func filesThatAre(t *testing.T, wanted func(ext string) bool) map[string]string {
	t.Helper()
	all := try(files())(t)
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(path, _ string) bool { return !wanted(filepath.Ext(path)) })
	return some
}

// anchors returns the anchors that GitHub generates for a page's headings.
func anchors(text string) []string {
	strip := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	var all []string
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		if hashes, title, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Trim(hashes, "#") == "" {
			all = append(all, strings.ReplaceAll(strip.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
		}
	}
	return all
}

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	all := pages(t)
	if len(all) < 40 {
		t.Fatalf("found only %d pages", len(all))
	}
	for page, text := range all {
		for _, m := range pageLink.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") || strings.Contains(target, "{") {
				continue // the link leads to another site, or is a template
			}
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			} else if fragment != "" && filepath.Ext(to) == ".md" && !slices.Contains(anchors(all[to]), fragment) {
				t.Errorf("%s links to %s, but that page has no such heading", page, m[1])
			}
		}
	}
}

// Code, rules, charts and messages also name pages, by path or by address, some with an anchor.
func TestPagesThatFilesNameExist(t *testing.T) {
	all := pages(t)
	named := regexp.MustCompile(`(?:^|[^\w/.-])(?:\.\./)*(?:https://github\.com/kubeflap/kubeflap/blob/[^/\s]+/)?((?:docs|rules/runbooks|lab|charts/kubeflap)/[\w./-]+\.md)(#[\w-]+)?`)
	found := 0
	for path, text := range texts(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			page, ok := all[filepath.Join(Root, m[1])]
			if !ok {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			} else if m[2] != "" && !slices.Contains(anchors(page), m[2][1:]) {
				t.Errorf("%s names %s%s, but that page has no such heading", path, m[1], m[2])
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d pages", found)
	}
}

// Paths of this repository in the docs must exist.
func TestPathsOnPagesExist(t *testing.T) {
	path := regexp.MustCompile("`((?:exporter|cmd/kubeflap|rules|dashboards|charts|lab|tools|deploy|mixin)/[\\w./*-]*)`")
	found := 0
	for page, text := range userPages(t) {
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			found++
			if matches, err := filepath.Glob(filepath.Join(Root, m[1])); err != nil || len(matches) == 0 {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d paths", found)
	}
}

// The index must link to every page in docs/.
func TestTheIndexHasEveryPage(t *testing.T) {
	all := pages(t)
	index := all["../../docs/README.md"]
	for page := range all {
		name, inDocs := strings.CutPrefix(page, "../../docs/")
		if inDocs && name != "README.md" && !strings.Contains(index, "("+name) {
			t.Errorf("docs/README.md does not link to %s", name)
		}
	}
}

// The lab's list of scenarios has the numbers of the demo's recordings.
func TestTheRecordingsAreNumbered(t *testing.T) {
	text := readFile(t, "lab/README.md")
	files := try(filepath.Glob(filepath.Join(Root, "exporter/recording/incidents/*.jsonl.gz")))(t)
	if len(files) != 5 {
		t.Errorf("found %d recordings", len(files))
	}
	for _, file := range files {
		number, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".jsonl.gz"), "-")
		if !regexp.MustCompile("(?m)^\\| `" + name + "` \\|.*\\| " + number + " \\|$").MatchString(text) {
			t.Errorf("lab/README.md does not list %s with the number %s", name, number)
		}
	}
}

// The README fits on two screens.
func TestTheReadmeIsShort(t *testing.T) {
	text := readFile(t, "README.md")
	if lines, words := strings.Count(text, "\n"), len(strings.Fields(text)); lines > 90 || words > 700 {
		t.Errorf("README.md has %d lines and %d words", lines, words)
	}
}

// The docs have few pages, so that a reader finds the right one. The runbooks have their own limit.
func TestTheDocsAreShort(t *testing.T) {
	number, words := 0, 0
	for page, text := range pages(t) {
		if strings.HasPrefix(page, "../../docs/") {
			number++
			words += len(strings.Fields(text))
		}
	}
	if number > 20 || words > 25_000 {
		t.Errorf("docs/ has %d pages and %d words, want at most 20 and 25,000", number, words)
	}
}

// table returns the rows of the table with the given head in docs/alerts.md.
func table(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(readFile(t, "docs/alerts.md"), head+"\n")
	if !ok {
		t.Fatalf("no table %q in docs/alerts.md", head)
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if strings.HasPrefix(line, "| ---") {
			continue
		}
		var cells []string
		for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		rows = append(rows, cells)
	}
	return rows
}

// The table must list every alert in the order of the files. Each row must have the severities, and a link to the
// runbook.
func TestAlertsAreListed(t *testing.T) {
	var want []string
	for _, r := range alerts(t) {
		row := fmt.Sprintf("[%s](../rules/runbooks/%s.md) %s", r.Alert, r.Alert, r.Rule.Labels["severity"])
		want = append(want, row)
	}
	var got []string
	for _, row := range table(t, "| alert | severity | fires when |") {
		if len(row) != 3 || len(row[2]) < 20 {
			t.Errorf("the row %q does not say when it fires", row)
			continue
		}
		got = append(got, row[0]+" "+row[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/alerts.md lists\n%s\nbut the rules are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// docs/verdicts.md must explain every cause and every verdict. Alerts link to the headings of verdicts.
func TestVerdictsPageExplainsEveryCauseAndVerdict(t *testing.T) {
	page := readFile(t, "docs/verdicts.md")
	for _, c := range cause.All() {
		if !strings.Contains(page, "\n| `"+c.String()+"` | ") {
			t.Errorf("docs/verdicts.md does not explain the cause %s", c)
		}
	}
	for _, v := range verdict.All() {
		if !slices.Contains(anchors(page), v.String()) {
			t.Errorf("docs/verdicts.md has no heading for the verdict %s", v)
		}
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b := try(os.ReadFile(filepath.Join(Root, path)))(t)
	return string(b)
}

// runbooks returns the texts of all runbooks by file.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for path, text := range pages(t) {
		if filepath.Dir(path) == RulePath("runbooks") {
			texts[filepath.Base(path)] = text
		}
	}
	return texts
}

// All metrics, recording rules and alerts in runbooks must exist.
func TestRunbooksNameWhatExists(t *testing.T) {
	metrics := dictionary(t)
	names := setOf()
	for _, r := range rules(t) {
		names[r.Name()] = true
	}
	for runbook, text := range runbooks(t) {
		for _, name := range regexp.MustCompile(`[a-z:]*\bkubeflap_[a-z_]+[a-z0-9:]*`).FindAllString(text, -1) {
			if _, ok := metrics[name]; !ok && !names[name] {
				t.Errorf("%s: unknown name %s", runbook, name)
			}
		}
		for _, m := range regexp.MustCompile(`\b(Kubeflap[A-Z]\w*)(\.\+)?`).FindAllStringSubmatch(text, -1) {
			if m[2] == "" && !names[m[1]] {
				t.Errorf("%s: unknown alert %s", runbook, m[1])
			}
		}
	}
}

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
