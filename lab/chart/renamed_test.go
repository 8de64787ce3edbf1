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

// renamed maps names of values in other charts to the equivalent names in this chart. It gets this list from a template
// of the chart.
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
		t.Fatalf("unexpected number of names: %d", len(names))
	}
	return names
}

// If values have names from other charts, the chart must refuse all of them in one message. For each, the message must
// contain the equivalent name in this chart.
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
	_, err = template(string(text))
	if err == nil {
		t.Fatal("the chart accepts the names")
	}
	known := mapping(t, values(t, chart+"/values.yaml"))
	for name, right := range names {
		if want := name + " is not a value of this chart, set " + right; !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
		// The Prometheus Operator defines the fields below endpoint and spec.
		place := regexp.MustCompile(`\.(endpoint|spec)\..*`).ReplaceAllString(right, ".$1")
		if at(known, place) == nil {
			t.Errorf("%s: the chart has no value %s", name, right)
		}
		if at(known, name) != nil {
			t.Errorf("%s is a value of the chart", name)
		}
	}
}

// The schema accepts some names from other charts. A template then refuses them, and its message contains the
// equivalent name. So the template must know all of them.
func TestSchemaKnowsOnlyNamesOfOtherCharts(t *testing.T) {
	t.Parallel()
	names, s := renamed(t), readSchema(t)
	check := func(path string, properties map[string]*schema) {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if properties[name].Ref == "#/$defs/renamed" && names[path+name] == "" {
				t.Errorf("templates/_renamed.tpl does not contain %s%s", path, name)
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
