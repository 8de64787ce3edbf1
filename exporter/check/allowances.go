package check

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v2"
)

// Allowances are the flaps that a check accepts.
type Allowances struct {
	// Service is the time for which a Service may have no ready address. If it is more than 0, single addresses may also
	// flap. Node is the time for which a node may be not Ready, likewise.
	Service model.Duration `yaml:"service"`
	Node    model.Duration `yaml:"node"`
	// Blind is the time for which a resource may be not watched. If it is less than 0, it depends on the period.
	Blind model.Duration `yaml:"blind"`
	// Planned is set if planned departures and roll-outs are accepted while another address is ready.
	Planned bool `yaml:"planned"`
	// IgnoreNamespaces and IgnoreNames are patterns in the syntax of path.Match. A name is that of a node, or a Service's
	// namespace and name, such as shop/web.
	IgnoreNamespaces []string `yaml:"ignoreNamespaces"`
	IgnoreNames      []string `yaml:"ignoreNames"`
}

// Load reads allowances from a YAML file, or returns the defaults if its name is empty. Errors contain the path.
func Load(file string) (a Allowances, err error) {
	a = Allowances{Blind: -1, Planned: true}
	if file == "" {
		return a, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return a, fmt.Errorf("read the allowances: %w", err)
	}
	if err = yaml.UnmarshalStrict(text, &a); err == nil {
		err = Patterns(slices.Concat(a.IgnoreNamespaces, a.IgnoreNames))
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", file, err)
	}
	return a, nil
}

// Patterns returns an error if a text is not a name or a pattern.
func Patterns(all []string) error {
	for _, p := range all {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return fmt.Errorf("%q is neither a name nor a pattern such as test-*", p)
		}
	}
	return nil
}

// defaultBlind is the time for which a resource may be not watched, if nothing else is allowed.
const defaultBlind = 2 * time.Minute

// blindFor returns the time for which a resource may be not watched in a period of the given length. By default, most of the
// period must be watched.
func (a *Allowances) blindFor(period time.Duration) time.Duration {
	if a.Blind < 0 {
		return min(defaultBlind, period/2)
	}
	return time.Duration(a.Blind)
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
