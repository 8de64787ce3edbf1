package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// renamed are the names of other charts, with the values that they are here, as the chart has them.
func renamed(t *testing.T) map[string]string {
	t.Helper()
	objects := render(t, `extraManifests:
  - |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: names}
    data:
      {{- include "kubeflap.renamed" . | nindent 6 }}
`)
	names := the[corev1.ConfigMap](t, objects).Data
	if len(names) < 80 {
		t.Fatalf("%d names", len(names))
	}
	return names
}

// Each name that other charts use is refused, all at once and with the name of a value that there is.
func TestNamesOfOtherCharts(t *testing.T) {
	t.Parallel()
	names := renamed(t)
	input := map[string]any{}
	for name := range names {
		section, key, below := strings.Cut(name, ".")
		if !below {
			input[section] = []string{}
			continue
		}
		if input[section] == nil {
			input[section] = map[string]any{}
		}
		input[section].(map[string]any)[key] = []string{}
	}
	text, err := yaml.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	_, err = template(t, string(text))
	if err == nil {
		t.Fatal("it renders")
	}
	known := mapping(t, values(t, chart+"/values.yaml"))
	for name, right := range names {
		if want := name + " is not a value of this chart, set " + right; !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
		// What is below an endpoint or a spec is the Operator's.
		place := regexp.MustCompile(`\.(endpoint|spec)\..*`).ReplaceAllString(right, ".$1")
		if at(known, place) == nil {
			t.Errorf("%s: there is no value %s", name, right)
		}
		if at(known, name) != nil {
			t.Errorf("%s is a value", name)
		}
	}
}

// What the schema lets through to be refused with the right name is refused so.
func TestSchemaKnowsOnlyNamesOfOtherCharts(t *testing.T) {
	t.Parallel()
	names, s := renamed(t), readSchema(t)
	check := func(path string, properties map[string]*schema) {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if properties[name].Ref == "#/$defs/renamed" && names[path+name] == "" {
				t.Errorf("templates/_renamed.tpl lacks %s%s", path, name)
			}
		}
	}
	check("", s.Properties)
	for section := range s.Properties {
		if below := s.at(section); below != nil {
			check(section+".", below.Properties)
		}
	}
}
