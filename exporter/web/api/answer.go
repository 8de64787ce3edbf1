// Package api defines the document of the API, for kubeflap and its clients. It prints the incidents of a
// response as a table, in full, as Markdown, or as JSON, and draws the timeline of an incident.
package api

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// Path is the URL path at which kubeflap serves an Answer. AdvicePath is the path of the report of `kubeflap advise`.
const (
	Path       = "/api/v1/incidents"
	AdvicePath = "/api/v1/advice"
)

// Answer is the response to a request for Path. Future versions may add fields, but will not remove fields or change
// their meaning.
type Answer struct {
	AsOf      time.Time           `json:"as_of"`
	Coverage  Coverage            `json:"coverage"`
	Incidents []incident.Incident `json:"incidents"`
	// GracePeriods has an entry for each cluster.
	GracePeriods []controlplane.Table `json:"grace_periods"`
}

// Coverage describes when kubeflap watched the cluster. Incidents may be missing before Since, during a gap, and for
// each resource in NotWatched. They may also be missing before DroppedUntil and before IncidentsLostUntil.
type Coverage struct {
	NotWatched []NotWatched `json:"not_watched"`
	// Since is the start of the coverage. kubeflap has been watching since then, except during the gaps. Started is the
	// start time of kubeflap's process. With several clusters, Since and Started are the latest of the clusters' times.
	// In a replay, Started is always null, and Since is null until the replay starts.
	Since   phrase.Time `json:"since"`
	Started phrase.Time `json:"started"`
	Gaps    []Gap       `json:"gaps"`
	incident.Displaced
	// IncidentsLostUntil is the time until which incidents may be missing, because the file with the incidents of
	// earlier processes was damaged, deleted or unreadable. It is omitted if no incidents are missing.
	IncidentsLostUntil phrase.Time `json:"incidents_lost_until,omitzero"`
	// Recorder describes the flight recorder. It is omitted if there is none.
	Recorder *Recorder `json:"recorder,omitempty"`
}

// Recorder describes whether events are recorded in the directory of --data.dir.
type Recorder struct {
	Recording bool `json:"recording"`
	// Since is the time at which Recording last changed, or null if it has never changed. Reason is empty while events
	// are recorded.
	Since  phrase.Time `json:"since"`
	Reason string      `json:"reason,omitempty"`
	// Oldest is the time of the oldest recorded event, or null.
	Oldest phrase.Time `json:"oldest"`
	// EventsLost is the number of unrecorded events since kubeflap started. Gaps is the number of periods with
	// unrecorded events.
	EventsLost uint64 `json:"events_lost"`
	Gaps       uint64 `json:"gaps"`
}

// Gap is a period in which resources were not watched. To is null while the gap is ongoing.
type Gap struct {
	Cluster   string      `json:"cluster,omitempty"`
	Resources []string    `json:"resources"`
	From      time.Time   `json:"from"`
	To        phrase.Time `json:"to"`
	Reason    string      `json:"reason"`
	// MayMiss describes the changes that may be missing from the incidents because of the gap.
	MayMiss string `json:"may_miss"`
}

// NotWatched is a resource that is not watched. Since is null if the start is unknown. Optional is set if kubeflap needs no
// permission for it, because it watches only one namespace.
type NotWatched struct {
	Cluster  string      `json:"cluster,omitempty"`
	Resource string      `json:"resource"`
	Since    phrase.Time `json:"since"`
	Reason   string      `json:"reason"`
	Optional bool        `json:"optional,omitempty"`
}

var idPattern = regexp.MustCompile(`^[0-9a-f]+(-[0-9]*)?$`)

// IsID reports whether a text can be an ID or its beginning.
func IsID(text string) bool { return idPattern.MatchString(text) }

// MinPrefix is the minimum length of an abbreviated ID.
const MinPrefix = 4

// The ID of an incident has idLength characters. Tables abbreviate it to shortIDLength characters. Two of the incidents
// that kubeflap keeps hardly ever begin with the same characters.
const shortIDLength, idLength = 8, 16

// ShortID returns the ID as tables show it.
func ShortID(id string) string { return id[:min(len(id), shortIDLength)] }

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
