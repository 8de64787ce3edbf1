package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
)

// named is the value of a flag whose errors name the flag.
type named struct {
	kingpin.Value
	flag string
}

// Set implements kingpin.Value.
func (n named) Set(s string) error {
	if err := n.Value.Set(s); err != nil {
		return fmt.Errorf("--%s: %w", n.flag, err)
	}
	return nil
}

// choice is a flag that takes one of some words.
type choice struct {
	word  *string
	words []string
}

// Set implements kingpin.Value.
func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("%q is none of %s", s, strings.Join(c.words, ", "))
	}
	*c.word = s
	return nil
}

// String implements kingpin.Value.
func (c choice) String() string { return *c.word }

// positiveDuration is a flag that takes a duration as Prometheus writes them
// (1m30s, 500ms, 2h), or as Go does, that is not negative.
type positiveDuration time.Duration

// Set implements kingpin.Value.
func (d *positiveDuration) Set(s string) error {
	parsed, err := time.ParseDuration(s)
	if err != nil {
		long, modelErr := model.ParseDuration(s)
		if modelErr != nil {
			return fmt.Errorf("%q is no duration such as 30s or 2m", s)
		}
		parsed = time.Duration(long)
	}
	if parsed < 0 {
		return fmt.Errorf("%q is negative", s)
	}
	*d = positiveDuration(parsed)
	return nil
}

// String implements kingpin.Value.
func (d *positiveDuration) String() string { return time.Duration(*d).String() }

// positiveInt is a flag that takes a whole number above 0.
type positiveInt int

// Set implements kingpin.Value.
func (n *positiveInt) Set(s string) error {
	parsed, err := strconv.Atoi(s)
	if err != nil || parsed < 1 {
		return fmt.Errorf("%q is no whole number above 0", s)
	}
	*n = positiveInt(parsed)
	return nil
}

// String implements kingpin.Value.
func (n *positiveInt) String() string { return strconv.Itoa(int(*n)) }

// speed is a flag that takes a number above 0.
type speed float64

// Set implements kingpin.Value.
func (v *speed) Set(s string) error {
	parsed, err := strconv.ParseFloat(s, 64)
	if err != nil || !(parsed > 0) || math.IsInf(parsed, 0) {
		return fmt.Errorf("%q is no number above 0", s)
	}
	*v = speed(parsed)
	return nil
}

// String implements kingpin.Value.
func (v *speed) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }
