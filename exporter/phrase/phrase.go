// Package phrase has durations and counts as sentences have them.
package phrase

import (
	"fmt"
	"strings"
	"time"
)

// Duration has about three digits, such as 850ms, 13.5s, 2m05s, 3h20m or 4d06h.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*time.Minute:
		return fmt.Sprintf("%gs", d.Round(100*time.Millisecond).Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Count is a number with its noun, such as "1 node" or "2 nodes".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Times ends a sentence about what happened n times; it is empty for once.
func Times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(", %d times", n)
}

// Sentence begins with a capital letter.
func Sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Some names the first of several things.
func Some(names []string) string {
	switch len(names) {
	case 0:
		return "the nodes"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}
