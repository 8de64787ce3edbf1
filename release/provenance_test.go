package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Each module must have the checksum from go.sum.
func TestModulesHaveTheSumsOfGoSum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binaryIn(dir, "amd64"), "./cmd/kubeflap")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all, goVersion, err := modules([]string{binaryIn(dir, "amd64")})
	if err != nil || len(all) < 20 || !strings.HasPrefix(goVersion, "go1.") {
		t.Fatalf("got %d modules and Go version %q, error %v", len(all), goVersion, err)
	}
	text, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		sums["pkg:golang/"+strings.ToLower(fields[0])+"@"+fields[1]] = strings.TrimPrefix(fields[2], "h1:")
	}
	for _, m := range all {
		sum, err := hex.DecodeString(m.GetDigest()["dirHash"])
		if got := base64.StdEncoding.EncodeToString(sum); err != nil || got != sums[strings.ToLower(m.GetUri())] {
			t.Errorf("%s has the checksum %s (%v), but go.sum has %q", m.GetUri(), got, err, sums[m.GetUri()])
		}
	}
}

func TestProvenanceNeedsItsArtefacts(t *testing.T) {
	t.Parallel()
	if _, err := made(t.TempDir(), build{version: "1.2.3", arches: "amd64"}); err == nil || !strings.Contains(err.Error(), "kubeflap-1.2.3.tgz") {
		t.Errorf("unexpected error for an empty build: %v", err)
	}
}
