package release

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// entry reports a kingpin symbol, which kubeflap uses, as vulnerable in every version.
const entry = `{"schema_version": "1.3.1", "id": "GO-0000-0001", "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z",
	"summary": "Made up for a test", "details": "Made up for a test.",
	"affected": [{"package": {"name": "github.com/alecthomas/kingpin/v2", "ecosystem": "Go"},
		"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
		"ecosystem_specific": {"imports": [{"path": "github.com/alecthomas/kingpin/v2", "symbols": ["%s"]}]}}],
	"database_specific": {"url": "https://pkg.go.dev/vuln/GO-0000-0001"}}`

// database writes a vulnerability database that only contains this entry, and returns its URL.
func database(t *testing.T, symbol string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"index/db.json":        `{"modified": "2026-01-01T00:00:00Z"}`,
		"index/modules.json":   `[{"path": "github.com/alecthomas/kingpin/v2", "vulns": [{"id": "GO-0000-0001", "modified": "2026-01-01T00:00:00Z"}]}]`,
		"index/vulns.json":     `[{"id": "GO-0000-0001", "modified": "2026-01-01T00:00:00Z"}]`,
		"ID/GO-0000-0001.json": fmt.Sprintf(entry, symbol),
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + dir
}

// makeVulncheck runs make vulncheck, which make test-full and the nightly workflow also run.
func makeVulncheck(t *testing.T, args ...string) (string, error) {
	t.Helper()
	// The last of several values of a variable applies.
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"vulncheck", "VULNCHECK="}, args...)...)
	cmd.Dir = root
	// Drop the flags of the make process that runs this test.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestVulncheckFindsWhatIsCalled(t *testing.T) {
	out, err := makeVulncheck(t, "VULNDB="+database(t, "New"))
	for _, want := range []string{"GO-0000-0001", "github.com/alecthomas/kingpin/v2", "kingpin.New"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, or the output does not contain %s:\n%s", err, want, out)
		}
	}
}

func TestVulncheckPassesWhatIsNotCalled(t *testing.T) {
	if out, err := makeVulncheck(t, "VULNDB="+database(t, "FatalUsage"), "VULNCHECK=required"); err != nil || !strings.Contains(out, "No vulnerabilities found") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// A skipped check must be reported. If the check is required, a skipped check is an error. A missing directory is
// always an error.
func TestVulncheckWithoutDatabase(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refuses.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close() //nolint:errcheck // nobody is to listen there
	for _, url := range []string{refuses.URL, closed} {
		out, err := makeVulncheck(t, "VULNDB="+url)
		if want := "vulncheck: NOT CHECKED: database " + url + " cannot be reached"; err != nil || strings.Count(out, want) != 1 {
			t.Errorf("%v, or the output does not contain the line %q once:\n%s", err, want, out)
		}
		if out, err := makeVulncheck(t, "VULNDB="+url, "VULNCHECK=required"); err == nil || strings.Contains(out, "NOT CHECKED") {
			t.Errorf("no error for a skipped check that is required: %v:\n%s", err, out)
		}
	}
	if out, err := makeVulncheck(t, "VULNDB=file:///nowhere"); err == nil {
		t.Errorf("no error for a missing directory:\n%s", out)
	}
}
