// Package recording writes events to a file and replays them in real time, at another speed, or without waiting. A
// recording is JSON Lines: a header, then one event per line (docs/recording-format.md). A Writer can replace names
// with pseudonyms.
package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Version is the version of the format. Reader rejects all other versions.
const Version = 2

// maxLine is the maximum length of a line in bytes. It limits the memory that a malicious recording can use. The API
// server stores objects of at most a few megabytes.
const maxLine = 64 << 20

// Header is the first line of a recording.
type Header struct {
	// Recorded is the time at which the recording began.
	Recorded time.Time `json:"recorded,omitzero"`
	// Kubernetes is the version of the API server, or "" if it is unknown.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Title is a one-line description of the recording.
	Title string `json:"title,omitempty"`
	// Anonymised is set if names are replaced with pseudonyms. A Writer with such a header replaces them.
	Anonymised bool `json:"anonymised"`
	// State is the number of events at the beginning that repeat the state at the end of the previous file. It is only
	// set in the files of a flight recorder, like Head.
	State int `json:"state,omitempty"`
	// Head is data of the program that wrote the file. It can contain names, so it is never exported.
	Head json.RawMessage `json:"head,omitempty"`
}

// format identifies a file as a recording. It is decoded before the other fields of the header, because another version
// may have other fields.
type format struct {
	Kubeflap string `json:"kubeflap"`
	Version  int    `json:"version"`
}

var (
	errNoSeen   = errors.New(`the field "seen" is missing`)
	errNoObject = errors.New(`the field "object" is missing`)
	errTooLong  = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
)

const kubeflapRecording = "recording"

// firstLine is the first line of a recording.
type firstLine struct {
	format
	Header
}

func decodeHeader(text []byte) (Header, error) {
	var f format
	if err := json.Unmarshal(text, &f); err != nil || f.Kubeflap != kubeflapRecording {
		return Header{}, errors.New("not a kubeflap recording: the first line is not a recording header")
	}
	if f.Version != Version {
		return Header{}, fmt.Errorf("the format version is %d, but this kubeflap only reads version %d", f.Version, Version)
	}
	var header Header
	err := decodeJSON(text, &header)
	header.Recorded = header.Recorded.UTC()
	return header, err
}

// line is one event. A Writer encodes it with appendEvent.
type line struct {
	Seen   time.Time    `json:"seen"`
	Kind   event.Kind   `json:"kind"`
	Type   event.Type   `json:"type"`
	Reason event.Reason `json:"reason,omitempty"`
	Object event.Object `json:"object,omitempty"`
}

// check returns an error if a Reader would reject the event. It runs before the event is written, because a written
// line cannot be removed.
func check(ev event.Event) error {
	if err := checkSeen(ev.Seen); err != nil {
		return err
	}
	switch {
	case !ev.Type.HasObject() && ev.Object != nil:
		return fmt.Errorf("an event of type %v must not have an object", ev.Type)
	case !ev.Type.HasObject():
		return nil
	case ev.Object == nil:
		return errNoObject
	case ev.Object.Kind() != ev.Kind:
		return fmt.Errorf("an event of kind %v has an object of kind %v", ev.Kind, ev.Object.Kind())
	case ev.Kind != event.KindCluster && ev.Object.Metadata().Name == "":
		return errors.New("the object has no name")
	}
	return nil
}

// checkSeen returns an error if the time is before 1970 or after 2199. Without these limits, durations could overflow.
func checkSeen(seen time.Time) error {
	switch {
	case seen.IsZero():
		return errNoSeen
	case seen.Unix() < 0 || seen.UTC().Year() >= 2200:
		return fmt.Errorf(`the field "seen" is %s, which is not between 1970 and 2200`, seen.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// kindForm matches the kind of an event, if it precedes the object. The labels of an object can contain any field.
var kindForm = regexp.MustCompile(`"kind"\s*:\s*"(\w+)"`)

// decodeEvent decodes a line whose fields may have any order.
func decodeEvent(text []byte) (event.Event, error) {
	kind, err := kindOf(text)
	if err != nil {
		return event.Event{}, err
	}
	l := line{Object: event.New(kind)}
	if err := decodeJSON(text, &l); err != nil {
		return event.Event{}, err
	}
	ev := event.Event{Seen: l.Seen.UTC(), Kind: kind, Type: l.Type, Reason: l.Reason}
	switch {
	case l.Kind != kind:
		return ev, errors.New(`the field "kind" occurs twice`)
	case l.Type == 0:
		return ev, errors.New(`the field "type" is missing`)
	case l.Type.HasObject() && !bytes.Contains(text, []byte(`"object"`)):
		return ev, errNoObject
	case l.Type.HasObject():
		ev.Object = l.Object
	}
	return ev, check(ev)
}

func kindOf(text []byte) (kind event.Kind, err error) {
	head, _, _ := bytes.Cut(text, []byte(`"object"`))
	if found := kindForm.FindSubmatch(head); found != nil {
		return kind, kind.UnmarshalText(found[1]) //nolint:wrapcheck // the caller adds the line
	}
	var found struct {
		Kind event.Kind `json:"kind"`
	}
	wrong := new(json.UnmarshalTypeError) // the line is no object, or its kind is no text
	switch err := json.Unmarshal(text, &found); {
	case errors.As(err, &wrong), err == nil && found.Kind == 0:
		return 0, errors.New(`the field "kind" is missing`)
	case err != nil:
		return 0, decodeJSON(text, &found)
	}
	return found.Kind, nil
}

// decodeJSON decodes a line. It truncates errors, because they may quote megabytes of input.
func decodeJSON(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("bad JSON: %.200s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
