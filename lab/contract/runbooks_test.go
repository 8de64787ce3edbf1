package contract

import (
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// otherMetrics lists metrics that runbooks query although kubeflap does not expose them. Their labels include those of
// Prometheus' service discovery.
var otherMetrics = map[string]Metric{
	"apiserver_flowcontrol_rejected_requests_total":    {"counter", []string{"priority_level", "reason"}},
	"apiserver_request_duration_seconds":               {"histogram", []string{"verb", "resource"}},
	"apiserver_request_duration_seconds_bucket":        {"histogram", []string{"le", "verb", "resource"}},
	"apiserver_terminated_watchers_total":              {"counter", []string{"resource"}},
	"etcd_disk_wal_fsync_duration_seconds":             {"histogram", nil},
	"etcd_disk_wal_fsync_duration_seconds_bucket":      {"histogram", []string{"le"}},
	"etcd_request_duration_seconds_bucket":             {"histogram", []string{"le", "operation"}},
	"etcd_server_leader_changes_seen_total":            {"counter", nil},
	"rest_client_requests_total":                       {"counter", []string{"code", "host", "method"}},
	"rest_client_rate_limiter_duration_seconds_bucket": {"histogram", []string{"le", "verb"}},
	"workqueue_depth":                                  {"gauge", []string{"name"}},
	"workqueue_queue_duration_seconds_bucket":          {"histogram", []string{"le", "name"}},
}

// block is a fenced code block.
type block struct {
	file, language, text string
}

// runbooks reads all runbooks. It returns their texts by file, and their fenced code blocks.
func runbooks(t *testing.T) (map[string]string, []block) {
	t.Helper()
	files, err := filepath.Glob(RulePath("runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	var blocks []block
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		texts[name] = string(b)
		parts := regexp.MustCompile("(?m)^ *```").Split(string(b), -1)
		if len(parts)%2 == 0 {
			t.Errorf("%s: unclosed code block", name)
		}
		for i := 1; i < len(parts); i += 2 {
			language, text, _ := strings.Cut(parts[i], "\n")
			blocks = append(blocks, block{name, language, text})
		}
	}
	return texts, blocks
}

// Runbooks must only query metrics that exist. Queries of kubeflap's metrics must merge replicas, except in the
// runbooks of alerts about kubeflap itself.
func TestRunbooksAskForWhatExists(t *testing.T) {
	all := dictionary(t)
	maps.Copy(all, otherMetrics)
	all = scraped(all)
	replicas := setOf()
	for _, r := range alerts(t) {
		if r.File == "kubeflap.yaml" {
			replicas[r.Alert+".md"] = true
		}
	}
	_, blocks := runbooks(t)
	queries := 0
	for _, b := range blocks {
		if b.language != "promql" {
			continue
		}
		queries++
		expr, err := ParseExpr(b.text)
		if err == nil {
			err = known(all, expr)
		}
		if err != nil {
			t.Errorf("%s: %v in %s", b.file, err, b.text)
			continue
		}
		parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
			v, ok := node.(*parser.VectorSelector)
			if ok && strings.HasPrefix(v.Name, "kubeflap_") && !replicas[b.file] && !merged(v, path, parser.MAX, parser.MIN) {
				t.Errorf("%s: %s is not the operand of a max or min", b.file, v)
			}
			return nil
		})
	}
	if queries == 0 {
		t.Error("found no queries")
	}
}

// Commands must be valid shell syntax. The parameters and causes in them must exist in kubeflap.
func TestRunbooksCommands(t *testing.T) {
	_, api, _ := strings.Cut(readFile(t, "docs/api.md"), "## Parameters")
	api, _, _ = strings.Cut(api, "## Answer")
	parameters := quoted(api)
	_, blocks := runbooks(t)
	for _, b := range blocks {
		switch b.language {
		case "promql":
			continue
		case "sh":
		default:
			t.Errorf("%s: unexpected language %q of a code block", b.file, b.language)
			continue
		}
		check := exec.Command("bash", "-n")
		check.Stdin = strings.NewReader(b.text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s in %s", b.file, err, out, b.text)
		}
		for _, m := range regexp.MustCompile(`/(?:api/v1/incidents|flaps)\?([^" ]+)`).FindAllStringSubmatch(b.text, -1) {
			values, err := url.ParseQuery(m[1])
			if err != nil {
				t.Errorf("%s: %v in %s", b.file, err, m[0])
			}
			for name := range values {
				if !slices.Contains(parameters, name) {
					t.Errorf("%s: unknown kubeflap parameter %s", b.file, name)
				}
			}
			if cause := values.Get("cause"); cause != "" && !slices.Contains(closedSet(), cause) {
				t.Errorf("%s: unknown cause %s", b.file, cause)
			}
		}
	}
}

// All metrics, recording rules and alerts in runbooks must exist.
func TestRunbooksNameWhatExists(t *testing.T) {
	metrics := dictionary(t)
	names := setOf()
	for _, r := range rules(t) {
		names[r.Name()] = true
	}
	texts, _ := runbooks(t)
	for runbook, text := range texts {
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
