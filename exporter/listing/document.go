package listing

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// minPrefix is the minimum length of an abbreviated ID. Shorter texts are more likely to be something else, such as the
// number of a recording in the table of kubeflap demo.
const minPrefix = 4

var idPattern = regexp.MustCompile(`^[0-9a-f]+(-[0-9]*)?$`)

// IsID reports whether a text can be an ID or its beginning.
func IsID(text string) bool { return idPattern.MatchString(text) }

// Find returns the incident whose ID starts with id. If no current ID matches, Find searches the former IDs of
// incidents. It returns an error unless exactly one incident matches, and if id is shorter than minPrefix.
func Find(answer *api.Answer, id string) (*api.Incident, error) {
	if len(id) < minPrefix {
		return nil, fmt.Errorf("%q is not an incident's ID: enter at least the first %d characters of the ID", id, minPrefix)
	}
	current := func(x *api.Incident) []string { return []string{x.ID} }
	former := func(x *api.Incident) []string { return x.Also }
	for _, idsOf := range []func(*api.Incident) []string{current, former} {
		found, ids := withPrefix(answer, id, idsOf)
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return nil, fmt.Errorf("several incidents have an ID that begins with %s: %s", id, strings.Join(ids, ", "))
	}
	return nil, fmt.Errorf("none of %d incidents has an ID that begins with %s; kubeflap drops the oldest incidents (--incidents.size)", len(answer.Incidents), id)
}

// withPrefix returns the incidents whose ID starts with the prefix. It also returns these IDs.
func withPrefix(answer *api.Answer, prefix string, idsOf func(*api.Incident) []string) (found []*api.Incident, ids []string) {
	for i := range answer.Incidents {
		x, before := &answer.Incidents[i], len(ids)
		for _, id := range idsOf(x) {
			if strings.HasPrefix(id, prefix) {
				ids = append(ids, id)
			}
		}
		if len(ids) > before {
			found = append(found, x)
		}
	}
	return found, ids
}

// JSON prints kubeflap's JSON response. If id is not empty, it prints only the incident with this ID.
func JSON(out io.Writer, text []byte, id string) error {
	text, err := selectIncident(text, id)
	if err == nil {
		_, err = io.WriteString(out, escaped(strings.TrimSpace(string(text)), `\u`)+"\n")
	}
	if err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// YAML prints kubeflap's JSON response as YAML. If id is not empty, it prints only the incident with this ID.
func YAML(out io.Writer, text []byte, id string) error {
	text, err := selectIncident(text, id)
	if err == nil {
		// The YAML library rejects control characters and surrogate pairs. Write their escape sequences as plain text
		// instead.
		text, err = yaml.JSONToYAML([]byte(escaped(string(text), `\\u`)))
	}
	if err == nil {
		_, err = io.WriteString(out, phrase.Text(string(text)))
	}
	if err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// selectIncident returns the incident with the given ID from a JSON response, or the whole response if id is empty. It
// keeps fields that this version of kubeflap does not know.
func selectIncident(text []byte, id string) ([]byte, error) {
	if id == "" {
		return text, nil
	}
	var answer struct{ Incidents []json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	for _, raw := range answer.Incidents {
		var x struct{ ID string }
		if err := json.Unmarshal(raw, &x); err != nil {
			return nil, err
		}
		if x.ID == id {
			return json.MarshalIndent(raw, "", "  ")
		}
	}
	return nil, fmt.Errorf("there is no incident %s", id)
}

// escaped escapes characters that could control a terminal. In JSON, they occur only inside strings.
func escaped(text, prefix string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "%s%04x", prefix, unit)
		}
	}
	return b.String()
}
