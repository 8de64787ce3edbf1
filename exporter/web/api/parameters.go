package api

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameters holds the variable of each parameter that a URL may have: a *string, *time.Time, *bool or
// oneOf.
type Parameters map[string]any

// oneOf is a text that must be in a set.
type oneOf struct {
	into *string
	set  []string
}

// Parse sets the variables to the values in the query of a URL. It returns these values. It ignores empty values, except
// that a bool without a value is true. Its errors name a parameter that is unknown, repeated or has a wrong value.
func (p Parameters) Parse(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fmt.Errorf("malformed query: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		into, ok := p[name]
		switch all := values[name]; {
		case !ok:
			return nil, fmt.Errorf("unknown parameter %.40q: use %s", name, strings.Join(slices.Sorted(maps.Keys(p)), ", "))
		case len(all) > 1:
			return nil, fmt.Errorf("parameter %s occurs %d times", name, len(all))
		}
		if err := set(into, values.Get(name)); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	maps.DeleteFunc(values, func(_ string, all []string) bool { return all[0] == "" })
	return values, nil
}

func set(parameter any, s string) (err error) {
	if flag, ok := parameter.(*bool); ok {
		if *flag, err = strconv.ParseBool(cmp.Or(s, "true")); err != nil {
			return fmt.Errorf("%.40q is not true or false", s)
		}
		return nil
	}
	if s == "" {
		return nil
	}
	switch into := parameter.(type) {
	case *string:
		*into = s
	case *time.Time:
		*into, err = ParseTime(s)
	case oneOf:
		if *into.into = s; !slices.Contains(into.set, s) {
			err = fmt.Errorf("%.40q is not one of %s", s, strings.Join(into.set, ", "))
		}
	}
	return err
}

// minutes is the time format of a datetime-local field without seconds. The time is in UTC.
const minutes = "2006-01-02T15:04"

// ParseTime parses a time in RFC 3339, in Unix seconds with an optional fraction, or from a datetime-local field.
func ParseTime(s string) (time.Time, error) {
	if whole, fraction, _ := strings.Cut(s, "."); isDigits(whole) && (fraction == "" || isDigits(fraction)) {
		seconds, err := strconv.ParseInt(whole, 10, 64)
		part, _ := strconv.ParseFloat("0."+fraction, 64)
		if err == nil && seconds < 1<<35 {
			return time.Unix(seconds, int64(part*float64(time.Second))).UTC(), nil
		}
	}
	for _, layout := range []string{time.RFC3339Nano, minutes, minutes + ":05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 2026-03-01T12:00:00Z or 1772366400", s)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
