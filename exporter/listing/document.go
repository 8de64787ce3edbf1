package listing

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"

	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// Find returns the only incident whose ID or former ID starts with id. If no incident or several incidents match, it
// returns an error.
func Find(answer *api.Answer, id string) (*api.Incident, error) {
	var found *api.Incident
	var names []string
	for i := range answer.Incidents {
		x := &answer.Incidents[i]
		ids := append([]string{x.ID}, x.Also...)
		if slices.ContainsFunc(ids, func(s string) bool { return strings.HasPrefix(s, id) }) {
			found, names = x, append(names, x.ID)
		}
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("none of %d incidents has an ID that begins with %s; kubeflap drops the oldest incidents (--incidents.size)", len(answer.Incidents), id)
	case 1:
		return found, nil
	}
	return nil, fmt.Errorf("several incidents have an ID that begins with %s: %s", id, strings.Join(names, ", "))
}

// JSON prints kubeflap's JSON response, or only the incident with this ID if id is not empty.
func JSON(out io.Writer, text []byte, id string) error {
	text, err := only(text, id)
	if err == nil {
		_, err = io.WriteString(out, escaped(strings.TrimSpace(string(text)), `\u`)+"\n")
	}
	if err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// YAML prints kubeflap's JSON response as YAML, or only the incident with this ID if id is not empty.
func YAML(out io.Writer, text []byte, id string) error {
	text, err := only(text, id)
	if err == nil {
		// The YAML library rejects control characters and cannot read surrogate pairs, so escapes of these become
		// literal text.
		text, err = yaml.JSONToYAML([]byte(escaped(string(text), `\\u`)))
	}
	if err == nil {
		_, err = io.WriteString(out, printable.Text(string(text)))
	}
	if err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// only returns one incident's JSON, or the whole text if id is empty. It keeps fields that later versions of kubeflap
// may add.
func only(text []byte, id string) ([]byte, error) {
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

// escaped escapes characters that could control a terminal. In JSON they only occur inside strings.
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
