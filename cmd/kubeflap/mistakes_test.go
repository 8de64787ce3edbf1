package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// placesOfMistakes returns the files and servers that testdata/mistakes.txt names.
func placesOfMistakes(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string { return write(t, filepath.Join(dir, name), text) }
	whole, err := os.ReadFile(story)
	if err != nil {
		t.Fatal(err)
	}
	const header = `{"kubeflap":"recording","version":2}` + "\n"
	notFound := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(notFound.Close)
	return map[string]string{
		"$nowhere": filepath.Join(dir, "nowhere"), "$null": os.DevNull, "$story": story, "$recording": lostNode, "$dir": recordedIn(t, lostNode),
		"$existing": file("existing.jsonl", "precious"), "$nameless": file(".jsonl", "{}"), "$empty": file("empty.jsonl", header), "$broken": file("broken.jsonl", header+"{"),
		"$damaged": damaged(t, 40), "$cut": file("cut.jsonl", string(bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:3], nil))),
		"$kubeconfig": kubeconfigFor(t, "http://127.0.0.1:1"), "$two": kubeconfigOfTwo(t),
		"$page-cluster":  kubeconfigFor(t, answering(t, "<!DOCTYPE html>\n")),
		"$empty-cluster": kubeconfigFor(t, answering(t, `{"kind": "ServiceList", "apiVersion": "v1", "items": []}`)),
		"$metrics":       answering(t, "up 1\n"), "$page": answering(t, "<!DOCTYPE html>\n"), "$taken": strings.TrimPrefix(notFound.URL, "http://"), "$notfound": notFound.URL,
		"$incidents": serveIncidents(t, incidentsDir+"4-endpoints-reset.jsonl.gz"), "$clusters": serveIncidents(t, recorded(t)...),
	}
}

// TestMistakes runs the command lines of testdata/mistakes.txt. Each prints one clear error, and nothing else.
func TestMistakes(t *testing.T) {
	text, err := os.ReadFile("testdata/mistakes.txt")
	if err != nil {
		t.Fatal(err)
	}
	places := placesOfMistakes(t)
	with := func(s string) string {
		for _, name := range []string{"$empty-cluster", "$page-cluster"} {
			s = strings.ReplaceAll(s, name, places[name])
		}
		for name, place := range places {
			s = strings.ReplaceAll(s, name, place)
		}
		return s
	}
	command := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if args, ok := strings.CutPrefix(line, "kubeflap "); ok {
			command = args
			continue
		}
		want, names, _ := strings.Cut(with(line), ": ")
		var args []string
		for _, arg := range strings.Fields(command) {
			args = append(args, with(arg))
		}
		status, out, errOut := kubeflap(t, append(args, "--log.level=error")...)
		if want != string(rune('0'+status)) || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, names) {
			t.Errorf("%s: status %d, want %s; printed %q, want one line with %q:\n%s", command, status, want, out, names, errOut)
		}
	}
	if text, _ := os.ReadFile(places["$existing"]); string(text) != "precious" {
		t.Errorf("the file that was in the way now holds %q", text)
	}
}
