// Package phrase formats durations, counts and names for sentences. It makes texts from a cluster or a recording, such as
// names, safe to display.
package phrase

import (
	"fmt"
	"strings"
	"time"
)

// Duration formats a duration with about three digits, such as 850ms, 13.5s, 2m05s, 5m, 3h20m or 4d06h.
func Duration(d time.Duration) string {
	switch {
	case d > 0 && d < time.Millisecond:
		return "less than 1ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*time.Minute:
		return fmt.Sprintf("%gs", d.Round(100*time.Millisecond).Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return strings.TrimSuffix(fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second), "00s")
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute), "00m")
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Range formats a duration that is not known exactly, such as 86ms to 35.5s. If atMost is not longer than atLeast, the
// duration is known.
func Range(atLeast, atMost time.Duration) string {
	switch {
	case atMost <= atLeast:
		return Duration(atLeast)
	case atLeast < time.Millisecond:
		return "at most " + Duration(atMost)
	}
	return Duration(atLeast) + " to " + Duration(atMost)
}

// Moment formats a time with its date, such as 2026-03-01 12:00:00 UTC.
func Moment(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }

// Clock formats a time without its date, in UTC.
func Clock(t time.Time) string { return t.UTC().Format("15:04:05.0") }

// Count returns a number with its noun, such as "no nodes", "1 node" or "2 nodes".
func Count(n int, one, many string) string {
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// CountOf returns how many of all things are meant, such as "2 of 9 nodes". If some of the n things no longer exist, so
// that there are fewer, it returns "2 nodes".
func CountOf(n, all int, many string) string {
	if n > all {
		return fmt.Sprintf("%d %s", n, many)
	}
	return fmt.Sprintf("%d of %d %s", n, all, many)
}

// Often returns how often something happened: "once", "twice" or "3 times".
func Often(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Times returns a suffix such as ", 3 times" for repeated observations. It is empty if n is less than 2.
func Times(n int) string {
	if n < 2 {
		return ""
	}
	return ", " + Often(n)
}

// Sentence returns s with its first letter capitalized. The string s must not be empty and must start with an ASCII
// character.
func Sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// FirstSentence returns the first sentence of a text, and the rest.
func FirstSentence(text string) (first, rest string) {
	if first, rest, found := strings.Cut(text, ". "); found {
		return first + ".", rest
	}
	return text, ""
}

// Some returns the first name and the number of the others, such as "node-1 and 2 more". It returns "the nodes" for an
// empty list.
func Some(names []string) string {
	switch len(names) {
	case 0:
		return "the nodes"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}
