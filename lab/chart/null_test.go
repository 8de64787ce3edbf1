package chart

import (
	"fmt"
	"strings"
	"testing"

	yaml3 "go.yaml.in/yaml/v3"
)

// needed are values without which a section is refused.
var needed = map[string]string{"ingress": "hosts: [{host: a.x}]", "httpRoute": "parentRefs: [{name: a}]"}

// null, by which Helm takes a value away, is what the default says if that is empty, and otherwise refused with the value's name:
// what would be left is another deployment than any that was asked for.
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
				input, base = fmt.Sprintf("{%s: {%s, %s: null}}", section, on, key), fmt.Sprintf("{%s: {%s}}", section, on)
			}
		}
		tried++
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			got, err := template(t, input)
			name := path[strings.LastIndex(path, ".")+1:]
			if err != nil && strings.HasPrefix(needed[section], key+":") {
				if !strings.Contains(err.Error(), path) {
					t.Errorf("it is refused, but not with its name: %v", err)
				}
				return
			}
			if err != nil {
				if !strings.Contains(err.Error(), fmt.Sprintf("missing property '%s'", name)) {
					t.Errorf("it is refused, but not with its name: %v", err)
				}
				return
			}
			if want, err := template(t, base); err != nil || got != want {
				t.Errorf("without it something else is rendered, %v:\n%s", err, got)
			}
		})
		return !below && value.Kind == yaml3.MappingNode && path != "podSecurityContext" && path != "securityContext" && path != "resources"
	})
	if tried < 100 {
		t.Errorf("%d values were tried", tried)
	}
}
