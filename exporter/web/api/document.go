package api

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// minPrefix is the minimum length of an abbreviated ID. Shorter texts are more likely to be something else, such as the
// number of a recording in the table of kubeflap demo.
const minPrefix = 4

var idPattern = regexp.MustCompile(`^[0-9a-f]+(-[0-9]*)?$`)

// IsID reports whether a text can be an ID or its beginning.
func IsID(text string) bool { return idPattern.MatchString(text) }

// Find returns the incident whose ID starts with id. If no current ID matches, Find searches the former IDs of
// incidents. It returns an error unless exactly one incident matches, and if id is shorter than minPrefix.
func Find(answer *Answer, id string) (*Incident, error) {
	if len(id) < minPrefix {
		return nil, fmt.Errorf("%q is not an incident's ID: enter at least the first %d characters of the ID", id, minPrefix)
	}
	var current, former []*Incident
	for i := range answer.Incidents {
		x := &answer.Incidents[i]
		switch {
		case strings.HasPrefix(x.ID, id):
			current = append(current, x)
		case slices.ContainsFunc(x.Also, func(also string) bool { return strings.HasPrefix(also, id) }):
			former = append(former, x)
		}
	}
	if len(current) == 0 {
		current = former
	}
	switch len(current) {
	case 0:
		return nil, fmt.Errorf("none of %d incidents has an ID that begins with %s; kubeflap drops the oldest incidents (--incidents.size)", len(answer.Incidents), id)
	case 1:
		return current[0], nil
	}
	var ids []string
	for _, x := range current {
		ids = append(ids, x.ID)
	}
	return nil, fmt.Errorf("several incidents have an ID that begins with %s: %s", id, strings.Join(ids, ", "))
}

// JSON prints a document of the API, or a part of it. It escapes characters that could control a terminal.
func JSON(out io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = io.WriteString(out, escaped(string(text))+"\n")
	}
	if err != nil {
		return fmt.Errorf("print the document: %w", err)
	}
	return nil
}

// escaped escapes unprintable characters. In JSON, they occur only inside strings.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
