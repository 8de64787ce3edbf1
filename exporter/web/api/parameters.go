package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxParameter is the maximum length of a parameter in bytes. Kubernetes names have at most 253 bytes.
	maxParameter = 253
	// MaxSubject is the maximum length of a subject in bytes: a namespace, a kind and a name.
	MaxSubject = 2*maxParameter + 64
	// maxPage is the highest page number that is accepted. No cluster has that many pages.
	maxPage = 1_000_000
)

func longest(parameter string) int {
	if parameter == "subject" {
		return MaxSubject
	}
	return maxParameter
}

// parameters returns a function for each allowed parameter. The function sets the parameter.
func (q *Query) parameters() map[string]func(string) error {
	text := func(into *string) func(string) error {
		return func(s string) error {
			*into = s
			return nil
		}
	}
	return map[string]func(string) error{
		"cluster": text(&q.Cluster), "namespace": text(&q.Namespace), "service": text(&q.Service), "node": text(&q.Node),
		"id": text(&q.ID), "subject": text(&q.Subject), "from": Time(&q.From), "to": Time(&q.To), "at": Time(&q.At),
		"cause":   oneOf(&q.Cause, Causes()),
		"verdict": oneOf(&q.Verdict, Verdicts()),
		"state":   oneOf(&q.State, States()),
		"page":    q.setPage,
	}
}

// Time returns a function that sets a time.
func Time(into *time.Time) func(string) error {
	return func(s string) (err error) { *into, err = ParseTime(s); return err }
}

func oneOf(into *string, set []string) func(string) error {
	return func(s string) error {
		if !slices.Contains(set, s) {
			return fmt.Errorf("%.40q is not one of %s", s, strings.Join(set, ", "))
		}
		*into = s
		return nil
	}
}

func (q *Query) setPage(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxPage {
		return fmt.Errorf("%.40q is not a number from 1 to %d", s, maxPage)
	}
	q.Page = n
	return nil
}

// minutes is the time format of a datetime-local field without seconds. The time is in UTC.
const minutes = "2006-01-02T15:04"

// FormFrom formats q.From for a datetime-local field, rounded down to a second. It returns "" if q.From is zero.
func (q *Query) FormFrom() string { return formText(q.From) }

// FormTo formats q.To for a datetime-local field, rounded up to a second. It returns "" if q.To is zero.
func (q *Query) FormTo() string {
	if q.To.IsZero() {
		return ""
	}
	return formText(q.To.Add(time.Second - 1))
}

func formText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(minutes + ":05")
}

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

// Active returns a description of each active filter, except state and verdict.
func (q *Query) Active() []string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, name+" "+value)
		}
	}
	add("cluster", q.Cluster)
	add("namespace", q.Namespace)
	add("Service", q.Service)
	add("node", q.Node)
	add("cause", q.Cause)
	if q.ID == "" {
		add("subject", q.Subject)
		add("at", formatTime(q.At))
	}
	add("from", formatTime(q.From))
	add("to", formatTime(q.To))
	return all
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}
