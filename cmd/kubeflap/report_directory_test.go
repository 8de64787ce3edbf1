package main

import (
	"strings"
	"testing"
)

// body returns the parts of a report that do not depend on its source.
func body(t *testing.T, args ...string) string {
	t.Helper()
	text, _, found := strings.Cut(must(t, append([]string{"report"}, args...)...), "## How this report was made")
	if !found {
		t.Fatal("the report does not describe its source")
	}
	return text
}

// TestAReportOfADirectory checks that a directory of --data.dir gives the same report as the recording, apart from its
// source.
func TestAReportOfADirectory(t *testing.T) {
	dir := recordedIn(t, lostNode)
	for _, args := range [][]string{nil, {"--node=node-2"}, {"--service=shop/web"}, {"--from=30s"}} {
		got, want := body(t, append(args, "--recording", dir)...), body(t, append(args, "--recording", lostNode)...)
		if got != want {
			t.Errorf("%q: the directory:\n%s\nwant\n%s", args, got, want)
		}
	}
	out := must(t, "report", "--recording", dir)
	for _, want := range []string{"| Made from | the recordings in the directory ", "| Checksum | none, because the files in a directory change.", "| 30s | 0 | 0 |"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	for want, args := range map[string]string{
		"--from: 2027-01-01T00:00:00Z is after the end of the recording": "--from=2027-01-01T00:00:00Z",
		"--to: 2025-01-01T00:00:00Z is before":                           "--to=2025-01-01T00:00:00Z",
		"--node: the recording has no node node-9":                       "--node=node-9",
	} {
		if status, out, errOut := kubeflap(t, "report", "--recording", dir, args); status == 0 || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d, %s", args, status, errOut)
		}
	}
	anonymous := t.TempDir()
	recordInto(t, anonymous, lostNode, true)
	if out := must(t, "report", "--recording", anonymous); !strings.Contains(out, "pseudonyms, because the recording is anonymised") {
		t.Errorf("an anonymised directory:\n%s", out)
	}
}

// TestAReportOfAKubeflapWithoutRecordings checks that the report gives the reason why there are no predictions.
func TestAReportOfAKubeflapWithoutRecordings(t *testing.T) {
	out := must(t, "report", "--url", serveIncidents(t, lostNode))
	if !strings.Contains(out, "There is no prediction for other settings: the recordings could not be read") || !strings.Contains(out, "--web.enable-recordings") {
		t.Errorf("it does not say so:\n%s", out)
	}
}
