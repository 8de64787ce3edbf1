package chart

import (
	"fmt"
	"strings"
	"testing"

	yaml3 "go.yaml.in/yaml/v3"
)

// needed maps a section to the values that must be set in it.
var needed = map[string]string{"ingress": "hosts: [{host: a.x}]", "httpRoute": "parentRefs: [{name: a}]"}

// others maps a section to the values that must be set outside of it.
var others = map[string]string{"persistence": "replicas: 1, "}

// Helm removes a value that is set to null. If the default of the value is empty, the output must stay the same.
// Otherwise, the chart must refuse the null and name the value. It would render a deployment that the user does not
// expect.
func TestNull(t *testing.T) {
	t.Parallel()
	tried := 0
	each(mapping(t, values(t, chart+"/values.yaml")), "", func(path string, _, value *yaml3.Node) bool {
		section, key, below := strings.Cut(path, ".")
		input, base := fmt.Sprintf("{%s: null}", section), "{}"
		if below {
			input, base = fmt.Sprintf("{%s: {%s: null}}", section, key), "{}"
			if key != "enabled" && at(mapping(t, values(t, chart+"/values.yaml")), section+".enabled") != nil {
				on := "enabled: true"
				if with := needed[section]; with != "" && !strings.HasPrefix(with, key) {
					on += ", " + with
				}
				input, base = fmt.Sprintf("{%s%s: {%s, %s: null}}", others[section], section, on, key), fmt.Sprintf("{%s%s: {%s}}", others[section], section, on)
			}
		}
		tried++
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, err := template(input)
			name := path[strings.LastIndex(path, ".")+1:]
			if err != nil && strings.HasPrefix(needed[section], key+":") {
				if !strings.Contains(err.Error(), path) {
					t.Errorf("the error does not name the value: %v", err)
				}
				return
			}
			if err != nil {
				if !strings.Contains(err.Error(), fmt.Sprintf("missing property '%s'", name)) {
					t.Errorf("the error does not name the value: %v", err)
				}
				return
			}
			if want, err := template(base); err != nil || got != want {
				t.Errorf("null changes the output, or is an error: %v\n%s", err, got)
			}
		})
		return !below && value.Kind == yaml3.MappingNode && path != "podSecurityContext" && path != "securityContext" && path != "resources"
	})
	if tried < 100 {
		t.Errorf("only %d values were tested", tried)
	}
}
