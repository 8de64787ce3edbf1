//go:build fleet

package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// To save time, the test replaces the interval in docs/fleet.md by a shorter one.
const (
	pageInterval = "30s"
	interval     = "5s"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// page contains the parts of docs/fleet.md that the test runs.
type page struct {
	prometheus, links string
	// all and few are remote_write configurations. all is for a ruler that evaluates all rules. few is for a ruler that
	// only evaluates kubeflap.yaml.
	all, few string
	// thanos contains the arguments of each Thanos component, by component.
	thanos map[string][]string
}

func readPage(t *testing.T) page {
	t.Helper()
	text := read(t, root+"/docs/fleet.md")
	block := func(heading, language string) string {
		_, after, _ := strings.Cut(text, "\n### "+heading+"\n")
		_, after, found := strings.Cut(after, "```"+language+"\n")
		before, _, closed := strings.Cut(after, "```\n")
		if !found || !closed {
			t.Fatalf("docs/fleet.md has no %s block below %q", language, heading)
		}
		return before
	}
	p := page{
		prometheus: block("Prometheus in each cluster", "yaml"), all: block("Series for all rules", "yaml"), few: block("Series for KubeflapDown", "yaml"),
		links: block("Links", "sh"), thanos: map[string][]string{},
	}
	if !strings.Contains(text, "`--rule-file=/etc/kubeflap/kubeflap.yaml`") {
		t.Error("docs/fleet.md does not state the rules of the ruler with few series")
	}
	commands := strings.ReplaceAll(block("Receiver, querier and ruler", "sh"), "\\\n", "")
	for line := range strings.Lines(commands) {
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if words[0] != "thanos" {
			t.Fatalf("docs/fleet.md: %s is not a thanos command", line)
		}
		p.thanos[words[1]] = words[1:]
	}
	return p
}

var address = regexp.MustCompile(`[a-z.]+\.(?:example\.org|svc):\d+`)

// placed replaces each address in a text by an address on this machine. It adds addresses that are not in the map at.
func placed(t *testing.T, text string, at map[string]string) string {
	t.Helper()
	return address.ReplaceAllStringFunc(text, func(name string) string {
		if _, ok := at[name]; !ok {
			at[name] = freeAddress(t)
		}
		return at[name]
	})
}

// linkedRules returns a directory with a copy of the rules. The command from docs/fleet.md has added the cluster to all
// links in them.
func (p page) linkedRules(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for _, name := range []string{"nodes", "services", "pods", "kubeflap", "fleet"} {
		text := read(t, root+"/rules/"+name+".yaml")
		if err := os.WriteFile(filepath.Join(directory, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", p.links)
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", p.links, err, output)
	}
	return directory
}
