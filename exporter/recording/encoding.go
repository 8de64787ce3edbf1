// Package recording writes events to a file and replays them in real time, at another speed, or without waiting. A
// recording is JSON Lines: a header, then one event per line (docs/recording-format.md). An Anonymiser replaces names
// with pseudonyms.
package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	// Anonymised is set if names are replaced with pseudonyms.
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
	if err := json.Unmarshal(text, &header); err != nil {
		return Header{}, fmt.Errorf("bad header: %w", plain(err))
	}
	header.Recorded = header.Recorded.UTC()
	return header, nil
}

// line is one event.
type line struct {
	Seen   time.Time    `json:"seen"`
	Kind   event.Kind   `json:"kind"`
	Type   event.Type   `json:"type"`
	Reason event.Reason `json:"reason,omitempty"`
	Object event.Object `json:"object,omitempty"`
}

func lineOf(ev event.Event) line {
	return line{Seen: ev.Seen.UTC(), Kind: ev.Kind, Type: ev.Type, Reason: ev.Reason, Object: ev.Object}
}

// check returns an error if a Reader would reject the event. It runs before the event is written, because a written
// line cannot be removed.
func check(ev event.Event) error {
	var known event.Type
	if err := checkSeen(ev.Seen); err != nil {
		return err
	}
	switch {
	case event.New(ev.Kind) == nil:
		return fmt.Errorf("unknown kind %d", ev.Kind)
	case known.UnmarshalText([]byte(ev.Type.String())) != nil:
		return fmt.Errorf("unknown event type %d", ev.Type)
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

// decodeEvent decodes a line whose fields may have any order.
func decodeEvent(text []byte) (event.Event, error) {
	kind := kindOf(text)
	if kind == 0 { // not a line as Writer writes it
		var found struct {
			Kind event.Kind `json:"kind"`
		}
		if err := json.Unmarshal(text, &found); err != nil {
			return event.Event{}, plain(err)
		}
		if kind = found.Kind; kind == 0 {
			return event.Event{}, errors.New(`the field "kind" is missing`)
		}
	}
	l := line{Object: event.New(kind)}
	if err := json.Unmarshal(text, &l); err != nil {
		return event.Event{}, plain(err)
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

// kindOf returns the kind in a line in which the kind precedes the object, and 0 for other lines.
func kindOf(text []byte) (kind event.Kind) {
	head, _, _ := bytes.Cut(text, []byte(`"object":`))
	_, name, _ := bytes.Cut(head, []byte(`"kind":"`))
	name, _, _ = bytes.Cut(name, []byte{'"'})
	_ = kind.UnmarshalText(name) // any fault is found when the whole line is decoded
	return kind
}

// plain rewords errors of encoding/json that mention Go types. It also truncates errors, because they may quote
// megabytes of input.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("expected a JSON object, not %.40s", wrong.Value)
	case errors.As(err, &wrong):
		// For fields of the embedded struct Meta, encoding/json adds a prefix that the JSON does not contain.
		return fmt.Errorf("%.200q cannot be %.40s", strings.ReplaceAll(wrong.Field, "Meta.", ""), wrong.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("bad JSON: %w", err)
	}
	const most = 200
	if text := err.Error(); len(text) > most {
		return fmt.Errorf("%.*s and so on", most, text)
	}
	return err
}
