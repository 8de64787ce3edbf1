package chart

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml3 "go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the generated files")

// leftAlone lists the values that no file in ci/ has to set.
var leftAlone = map[string]bool{
	// Another claim than the one of the release is for a single replica.
	"persistence.existingClaim": true,
}

// mapping parses a YAML document that is a mapping.
func mapping(t *testing.T, text string) *yaml3.Node {
	t.Helper()
	var document yaml3.Node
	must(t, yaml3.Unmarshal([]byte(text), &document))
	return document.Content[0]
}

// each calls f for each key in a mapping. If f returns true, it also visits the keys in the value.
func each(node *yaml3.Node, path string, f func(path string, key, value *yaml3.Node) bool) {
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		here := strings.TrimPrefix(path+"."+key.Value, ".")
		if f(here, key, value) && value.Kind == yaml3.MappingNode {
			each(value, here, f)
		}
	}
}

// keys returns the paths of all values, but not of mappings that contain values.
func keys(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	each(mapping(t, text), "", func(path string, _, value *yaml3.Node) bool {
		if value.Kind != yaml3.MappingNode || len(value.Content) == 0 {
			found = append(found, path)
		}
		return true
	})
	return found
}

// schema has the fields of a JSON Schema that the tests use.
type schema struct {
	Ref                  string             `json:"$ref"`
	Defs                 map[string]*schema `json:"$defs"`
	Type                 any                `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	AnyOf                []*schema          `json:"anyOf"`
	AllOf                []*schema          `json:"allOf"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	s := &schema{}
	must(t, json.Unmarshal([]byte(values(t, source+"/values.schema.json")), s))
	return s
}

// The chart must stay an ordinary one.
func TestChartIsSmall(t *testing.T) {
	t.Parallel()
	if n := len(keys(t, values(t, source+"/values.yaml"))); n > 120 {
		t.Errorf("values.yaml has %d values, want at most 120", n)
	}
	files := 0
	err := filepath.WalkDir(root+"/charts", func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files > 40 {
		t.Errorf("charts/ has %d files, want at most 40: %v", files, err)
	}
}

// at returns the schema of the value at a path. It follows references in the schema.
func (s *schema) at(path string) *schema {
	here := s
	for name := range strings.SplitSeq(path, ".") {
		if here = here.Properties[name]; here == nil {
			return nil
		}
		if here.Ref != "" {
			here = s.Defs[strings.TrimPrefix(here.Ref, "#/$defs/")]
		}
	}
	return here
}

// The schema must refuse unknown names at every level.
func TestSchemaIsClosed(t *testing.T) {
	t.Parallel()
	open := map[string]bool{"$defs.kubernetes": true, "global": true}
	var walk func(path string, s *schema)
	walk = func(path string, s *schema) {
		rest := string(s.AdditionalProperties)
		if s.Type == "object" && (rest == "" || rest == "true") && !open[strings.TrimPrefix(path, ".")] {
			t.Errorf("%s accepts unknown names", path)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			walk(path+"."+name, s.Properties[name])
		}
		for name, def := range s.Defs {
			walk(path+".$defs."+name, def)
		}
		for i, other := range slices.Concat(s.AnyOf, s.AllOf) {
			walk(fmt.Sprintf("%s.%d", path, i), other)
		}
		if s.Items != nil {
			walk(path+"[]", s.Items)
		}
	}
	walk("", readSchema(t))
}

// The schema must accept changes to each existing alert, and must refuse all other names.
func TestSchemaKnowsEveryAlert(t *testing.T) {
	t.Parallel()
	severities := map[string]int{}
	for _, rule := range alerts(t, "{prometheusRule: {enabled: true}}") {
		severities[rule.Alert]++
	}
	s := readSchema(t)
	known := s.at("prometheusRule.alerts").Properties
	if got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(severities)); !slices.Equal(got, want) {
		t.Errorf("values.schema.json: prometheusRule.alerts has %q, want %q", got, want)
	}
	for name, n := range severities {
		if want := map[int]string{1: "#/$defs/alert", 2: "#/$defs/alerts"}[n]; known[name] != nil && known[name].Ref != want {
			t.Errorf("values.schema.json: %s has %d severities, but its definition is %s", name, n, known[name].Ref)
		}
	}
}

// table returns the reference table of the values. It is generated from the comments in values.yaml.
func table(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Key | Type | Default | Description |\n| --- | --- | --- | --- |\n")
	each(mapping(t, values(t, source+"/values.yaml")), "", func(path string, key, value *yaml3.Node) bool {
		about := strings.Join(strings.Fields(lastParagraph(key.HeadComment)), " ")
		commentedBelow := value.Kind == yaml3.MappingNode && len(value.Content) > 0 && value.Content[0].HeadComment != ""
		if about == "" && !commentedBelow {
			t.Errorf("values.yaml: %s has no comment", path)
		}
		if commentedBelow {
			if about != "" {
				fmt.Fprintf(&b, "| **`%s`** | | | %s |\n", path, about)
			}
			return true
		}
		var plain any
		must(t, value.Decode(&plain))
		text := try(json.Marshal(plain))(t)
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", path, types[reflect.ValueOf(plain).Kind()], text, strings.ReplaceAll(about, "|", `\|`))
		return false
	})
	return b.String()
}

// types are the names that helm-docs uses.
var types = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "bool", reflect.Int: "int", reflect.Map: "object", reflect.Slice: "list"}

func lastParagraph(comment string) string {
	paragraphs := strings.Split(strings.NewReplacer("# -- ", "", "# ", "").Replace(comment), "\n\n")
	return paragraphs[len(paragraphs)-1]
}

func TestReadmeIsFresh(t *testing.T) {
	t.Parallel()
	path := source + "/README.md"
	old := values(t, path)
	between := regexp.MustCompile(`(?s)(<!-- made from values.yaml by make docs -->\n).*(<!-- end -->)`)
	if !between.MatchString(old) {
		t.Fatal("README.md has no markers for the table of values")
	}
	fresh := between.ReplaceAllStringFunc(old, func(whole string) string {
		parts := between.FindStringSubmatch(whole)
		return parts[1] + table(t) + parts[2]
	})
	checkFresh(t, path, fresh)
}

// checkFresh checks that a generated file is up to date. With -update, it writes the file instead.
func checkFresh(t *testing.T, path, fresh string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil { //nolint:gosec // it is for everyone
			t.Fatal(err)
		}
		return
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != fresh {
		t.Errorf("%s is out of date (%v): run make docs", strings.TrimPrefix(path, root+"/"), err)
	}
}
