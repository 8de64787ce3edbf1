package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	yaml3 "go.yaml.in/yaml/v3"
)

// The values files in ci/ set these values, but they have no effect there. Other tests cover them.
var without = []string{
	// global.imageRegistry and image.digest override these values.
	"image.registry", "image.tag",
}

// Each value that a file in ci/ sets must change the rendered objects. This does not apply to values that equal the
// default. The quick run tests each value with one file only.
func TestEveryValueHasAnEffect(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := mapping(t, values(t, chart+"/values.yaml"))
	var tested sync.Map
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text := values(t, file)
			whole, err := template(text)
			if err != nil {
				t.Fatal(err)
			}
			each(mapping(t, text), "", func(path string, _, value *yaml3.Node) bool {
				original := at(known, path)
				if original == nil || same(t, original, value) || slices.Contains(without, path) {
					return false
				}
				if original.Kind == yaml3.MappingNode && len(original.Content) > 0 {
					return true
				}
				if _, again := tested.LoadOrStore(path, true); again && testing.Short() {
					return false
				}
				// If there is an error, another value requires this one. So this value has an effect.
				if rest, err := template(remove(t, text, path)); err == nil && rest == whole {
					t.Errorf("%s has no effect on any object", path)
				}
				return false
			})
		})
	}
}

// at returns the YAML node at a path, or nil.
func at(node *yaml3.Node, path string) *yaml3.Node {
	name, rest, more := strings.Cut(path, ".")
	for i := 0; i < len(node.Content); i += 2 {
		switch {
		case node.Content[i].Value != name:
		case more:
			return at(node.Content[i+1], rest)
		default:
			return node.Content[i+1]
		}
	}
	return nil
}

func same(t *testing.T, a, b *yaml3.Node) bool {
	t.Helper()
	return plain(t, a) == plain(t, b)
}

// plain returns a YAML node as text, without comments and in one style.
func plain(t *testing.T, node *yaml3.Node) string {
	t.Helper()
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatal(err)
	}
	text, err := yaml3.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func remove(t *testing.T, text, path string) string {
	t.Helper()
	whole := mapping(t, text)
	parent, name := whole, path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = at(whole, path[:i]), path[i+1:]
	}
	for i := 0; i < len(parent.Content); i += 2 {
		if parent.Content[i].Value == name {
			parent.Content = slices.Delete(parent.Content, i, i+2)
			break
		}
	}
	return plain(t, whole)
}
