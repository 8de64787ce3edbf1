package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var story = build{
	version: "1.2.3", arches: "amd64", builder: "https://example.com/builder",
	commit: commit{strings.Repeat("ab", 20), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
}

// compiled builds kubeflap.
func compiled(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "kubeflap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/kubeflap")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sbom(t *testing.T, binary string, b build) (*cdx.BOM, []byte) {
	t.Helper()
	if err := writeSBOM(binary, b); err != nil {
		t.Fatal(err)
	}
	text := read(t, sbomOf(binary))
	list := &cdx.BOM{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(list); err != nil {
		t.Fatal(err)
	}
	return list, text
}

func TestSBOMListsWhatIsLinked(t *testing.T) {
	t.Parallel()
	binary := compiled(t)
	list, text := sbom(t, binary, story)
	checkSchema(t, text)
	if again, same := sbom(t, binary, story); !bytes.Equal(text, same) {
		t.Errorf("made again it is another one: %s and %s", list.SerialNumber, again.SerialNumber)
	}
	if list.Metadata.Timestamp != "2026-01-02T03:04:05Z" || list.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("it is of %s, version %s", list.Metadata.Timestamp, list.Metadata.Component.Version)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, c := range *list.Components {
		listed[c.Name] = c.Version
	}
	want := map[string]string{"stdlib": strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want[m.Path] = m.Version
	}
	if len(listed) != len(want) || len(want) < 20 {
		t.Errorf("%d components, want %d", len(listed), len(want))
	}
	for name, version := range want {
		if listed[name] != version {
			t.Errorf("%s is listed as %q, want %s", name, listed[name], version)
		}
	}
	if problems := checkSBOM(binary, "1.2.3"); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestSBOMOfAnotherBinary(t *testing.T) {
	t.Parallel()
	binary := compiled(t)
	before, _ := sbom(t, binary, story)
	if err := os.WriteFile(binary, append(read(t, binary), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if problems := checkSBOM(binary, "1.2.4"); len(problems) != 2 {
		t.Errorf("of a changed binary and another version it says only %q", problems)
	}
	if after, _ := sbom(t, binary, story); after.SerialNumber == before.SerialNumber {
		t.Errorf("both have the serial number %s", after.SerialNumber)
	}
}

// checkSchema holds it to CycloneDX' own schema, which the library carries.
func checkSchema(t *testing.T, text []byte) {
	t.Helper()
	dir, err := output(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for url, file := range map[string]string{
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "bom-1.6.schema.json",
	} {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, filepath.Join(dir, "schema", file))))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  []byte
		valid bool
	}{{text, true}, {bytes.Replace(text, []byte(`"library"`), []byte(`"bookshelf"`), 1), false}} {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); (err == nil) != c.valid {
			t.Errorf("valid: %v, the schema says %v", c.valid, err)
		}
	}
}
