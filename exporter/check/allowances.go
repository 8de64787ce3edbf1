package check

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v2"
)

// Allowances are the flaps that a check accepts.
type Allowances struct {
	// ServiceSeconds is the time in seconds for which a Service may have no ready address. If it is more than 0, single
	// addresses may also flap. NodeSeconds is the time for which a node may be not Ready, likewise.
	ServiceSeconds float64 `yaml:"serviceSeconds"`
	NodeSeconds    float64 `yaml:"nodeSeconds"`
	// BlindSeconds is the time for which a resource may be not watched.
	BlindSeconds float64 `yaml:"blindSeconds"`
	// Planned is set if planned departures and roll-outs are accepted while another address is ready.
	Planned bool `yaml:"planned"`
	// IgnoreNamespaces and IgnoreNames are patterns in the syntax of path.Match. A name is that of a node, or a Service's
	// namespace and name, such as shop/web.
	IgnoreNamespaces []string `yaml:"ignoreNamespaces"`
	IgnoreNames      []string `yaml:"ignoreNames"`
}

// Load reads allowances from a YAML file, or the defaults if its name is empty. The map holds more important ones, by
// their names in the file, and `more` has further patterns. Errors contain the path.
func Load(file string, flags map[string]any, more *Allowances) (a Allowances, err error) {
	a = Allowances{BlindSeconds: 120, Planned: true}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return a, fmt.Errorf("read the allowances: %w", err)
		}
		if err = yaml.UnmarshalStrict(text, &a); err != nil {
			return a, fmt.Errorf("%s: %w", file, err)
		}
	}
	if least := min(a.ServiceSeconds, a.NodeSeconds, a.BlindSeconds); !(least >= 0) {
		return a, fmt.Errorf("%s: %g seconds are less than 0", file, least)
	}
	text, _ := yaml.Marshal(flags) // numbers and Booleans cannot fail
	err = yaml.Unmarshal(text, &a)
	for source, patterns := range map[string][]string{file: slices.Concat(a.IgnoreNamespaces, a.IgnoreNames), "--ignore.name": more.IgnoreNames, "--ignore.namespace": more.IgnoreNamespaces} {
		for _, p := range patterns {
			if _, malformed := path.Match(p, ""); malformed != nil || p == "" {
				err = fmt.Errorf("%s: %q is neither a name nor a pattern such as test-*", source, p)
			}
		}
	}
	a.IgnoreNamespaces, a.IgnoreNames = append(a.IgnoreNamespaces, more.IgnoreNamespaces...), append(a.IgnoreNames, more.IgnoreNames...)
	return a, err
}

// ignores reports whether flaps of an object are accepted. The namespace of a node is empty.
func (a *Allowances) ignores(namespace, name string) bool {
	return namespace != "" && matches(a.IgnoreNamespaces, namespace) || matches(a.IgnoreNames, strings.TrimPrefix(namespace+"/"+name, "/"))
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

// seconds returns a duration. Durations of more than 30 years would overflow.
func seconds(s float64) time.Duration { return time.Duration(min(s, 1e9) * float64(time.Second)) }
