package main

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

// entry reports a symbol of kingpin, which kubeflap's commands are made of, as vulnerable in every version.
const entry = `{"schema_version": "1.3.1", "id": "GO-0000-0001", "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z",
	"summary": "Made up for a test", "details": "Made up for a test.",
	"affected": [{"package": {"name": "github.com/alecthomas/kingpin/v2", "ecosystem": "Go"},
		"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
		"ecosystem_specific": {"imports": [{"path": "github.com/alecthomas/kingpin/v2", "symbols": ["%s"]}]}}],
	"database_specific": {"url": "https://pkg.go.dev/vuln/GO-0000-0001"}}`

// database writes one that holds the entry alone.
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

// makeVulncheck runs make vulncheck, which is what make test and make release-check run.
func makeVulncheck(t *testing.T, args ...string) (string, error) {
	t.Helper()
	// Later arguments overrule earlier ones.
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"vulncheck", "VULNCHECK="}, args...)...)
	cmd.Dir = ".."
	// What the make that runs this test was told is not for this one.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestVulncheckFindsWhatIsCalled(t *testing.T) {
	out, err := makeVulncheck(t, "VULNDB="+database(t, "New"))
	for _, want := range []string{"GO-0000-0001", "github.com/alecthomas/kingpin/v2", "kingpin.New"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, and it does not name %s:\n%s", err, want, out)
		}
	}
}

func TestVulncheckPassesWhatIsNotCalled(t *testing.T) {
	if out, err := makeVulncheck(t, "VULNDB="+database(t, "FatalUsage"), "VULNCHECK=required"); err != nil || !strings.Contains(out, "No vulnerabilities found") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// A check that was left out is said so, and is an error if the check is required. A directory that does not exist is an error, too.
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
			t.Errorf("%v, want one line %q:\n%s", err, want, out)
		}
		if out, err := makeVulncheck(t, "VULNDB="+url, "VULNCHECK=required"); err == nil || strings.Contains(out, "NOT CHECKED") {
			t.Errorf("it was required, %v:\n%s", err, out)
		}
	}
	if out, err := makeVulncheck(t, "VULNDB=file:///nowhere"); err == nil {
		t.Errorf("no such directory, yet it passes:\n%s", out)
	}
}
