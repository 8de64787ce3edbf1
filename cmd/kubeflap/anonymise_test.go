package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// realName begins all names of the test's cluster. No pseudonym, and no word of Kubernetes, contains it.
const realName = "realname"

// named writes a copy of a recording in which the names of nodes, pods and Services begin with realName.
func named(t *testing.T, text string) (path string) {
	t.Helper()
	renamed := strings.NewReplacer(`"node-`, `"realname-`, `"shop"`, `"realname-shop"`, `"web`, `"realname-web`).Replace(text)
	if n := strings.Count(renamed, realName); n < 90 {
		t.Fatalf("the recording has %d real names", n)
	}
	return write(t, filepath.Join(t.TempDir(), "named.jsonl"), renamed)
}

// checkAnonymised checks that the text of a recording has none of the names and UIDs of another one.
func checkAnonymised(t *testing.T, text, original string) {
	t.Helper()
	if strings.Contains(text, realName) {
		t.Errorf("real names in\n%s", text)
	}
	for _, uid := range regexp.MustCompile(`"uid":"[^"]+"`).FindAllString(original, -1) {
		if strings.Contains(text, uid) {
			t.Errorf("%s is in the anonymised recording", uid)
		}
	}
}

// TestTheAnonymiseCommand checks the copies of a recording and of a directory, and that they have the same incidents.
func TestTheAnonymiseCommand(t *testing.T) {
	original := named(t, string(unzip(t, lostNode)))
	if out := must(t, "incidents", original, "-o=markdown"); strings.Count(out, realName) < 10 {
		t.Fatalf("the recording has no real names:\n%s", out)
	}
	for _, from := range []string{original, recordedIn(t, original)} {
		copied := filepath.Join(t.TempDir(), "copy.jsonl.gz")
		must(t, "anonymise", from, copied)
		checkAnonymised(t, string(unzip(t, copied)), fileText(t, original))
		out := must(t, "incidents", copied, "-o=markdown")
		if strings.Contains(out, realName) || !strings.Contains(out, "**What:** node node-") || !strings.Contains(out, "Names are pseudonyms") {
			t.Errorf("real names in\n%s", out)
		}
		if status, _, errOut := kubeflap(t, "anonymise", from, copied); status == 0 || !strings.Contains(errOut, "already exists") {
			t.Errorf("status %d, %s", status, errOut)
		}
	}
}

// TestAnonymisingADamagedRecording checks that a recording that is cut short is copied up to this point, and that nothing
// remains of any other damage.
func TestAnonymisingADamagedRecording(t *testing.T) {
	text, err := os.ReadFile(lostNode)
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	must(t, "anonymise", lostNode, whole)
	lines, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cut": string(text[:len(text)/2]), "damaged": string(lines) + "{]\n{}\n"} {
		copied := filepath.Join(t.TempDir(), "copy.jsonl")
		status, _, errOut := kubeflap(t, "anonymise", write(t, filepath.Join(t.TempDir(), name), want), copied)
		got, err := os.ReadFile(copied)
		if name == "cut" && (status != 0 || !strings.Contains(errOut, "the end of the recording is missing") || len(got) < 1000 || !strings.HasPrefix(string(lines), string(got))) {
			t.Errorf("%s: status %d, %s, %d bytes", name, status, errOut, len(got))
		}
		if name == "damaged" && (status == 0 || err == nil) {
			t.Errorf("%s: status %d, %s, %d bytes", name, status, errOut, len(got))
		}
	}
}
