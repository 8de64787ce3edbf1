package check

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Allowances are the flaps that a check accepts.
type Allowances struct {
	// Service is the time for which a Service may have no ready address. If it is more than 0, single addresses may also
	// flap. Node is the time for which a node may be not Ready, likewise.
	Service, Node time.Duration
	// Blind is the time for which a resource may be not watched. If it is nil, it depends on the period. The resources in
	// Optional need no permission.
	Blind    *time.Duration
	Optional []string
	// Planned is set if planned departures and roll-outs are accepted while another address is ready.
	Planned bool
	// IgnoreNamespaces and IgnoreNames are patterns in the syntax of path.Match. A name is that of a node, or a Service's
	// namespace and name, such as shop/web.
	IgnoreNamespaces, IgnoreNames []string
}

// defaultBlind is the time for which a resource may be not watched, if nothing else is allowed.
const defaultBlind = 2 * time.Minute

// blindFor returns the time for which a resource may be not watched in a period of the given length. By default, most of the
// period must be watched.
func (a *Allowances) blindFor(period time.Duration) time.Duration {
	limit := min(defaultBlind, period/2)
	return *cmp.Or(a.Blind, &limit)
}

// ParsePattern returns an error if a text is neither a name nor a pattern.
func ParsePattern(p string) error {
	if _, err := path.Match(p, ""); err != nil || p == "" {
		return fmt.Errorf("%q is neither a name nor a pattern such as test-*", p)
	}
	return nil
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
