// Package tape writes events to a recording and reads them back at their pace,
// faster, or at once. A recording is JSON Lines, a header and then one event a
// line, as docs/recording-format.md has it. The room does not know what an event
// means; only the Anonymiser knows which fields hold names.
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

// Version is the version of the format that is written, and the only one that is read.
const Version = 1

// maxLine bounds a line, and so the memory that a hostile recording can claim.
// The API server stores no object over a few megabytes.
const maxLine = 64 << 20

// Header is the first line of a recording.
type Header struct {
	// Recorded is when the recording was begun.
	Recorded time.Time `json:"recorded,omitzero"`
	// Kubernetes is the version of the API server, if it was known then.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Title is one line that says what there is to see.
	Title string `json:"title,omitempty"`
	// Anonymised tells that all names are pseudonyms.
	Anonymised bool `json:"anonymised"`
}

// format is what marks a file as a recording. It is read before the rest of the
// header, whose shape another version may have changed.
type format struct {
	Kubeflap string `json:"kubeflap"`
	Version  int    `json:"version"`
}

var (
	errNoSeen   = errors.New("seen is missing")
	errNoObject = errors.New("object is missing")
	errTooLong  = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
)

const kubeflapRecording = "recording"

func encodeHeader(header Header) ([]byte, error) {
	header.Recorded = header.Recorded.UTC()
	return encode(struct {
		format
		Header
	}{format{kubeflapRecording, Version}, header})
}

func decodeHeader(text []byte) (Header, error) {
	var f format
	if err := json.Unmarshal(text, &f); err != nil || f.Kubeflap != kubeflapRecording {
		return Header{}, errors.New("this is no recording of kubeflap: the first line is not its header")
	}
	if f.Version != Version {
		return Header{}, fmt.Errorf("the format has version %d, and this kubeflap reads version %d only", f.Version, Version)
	}
	var header Header
	if err := json.Unmarshal(text, &header); err != nil {
		return Header{}, fmt.Errorf("bad header: %w", plain(err))
	}
	header.Recorded = header.Recorded.UTC()
	return header, nil
}

// line is one event. It is read with its object still undecoded: the kind says
// as what to decode that, and may stand behind it.
type line[Object any] struct {
	Seen   time.Time    `json:"seen"`
	Kind   event.Kind   `json:"kind"`
	Type   event.Type   `json:"type"`
	Reason event.Reason `json:"reason,omitempty"`
	Object Object       `json:"object,omitempty"`
}

func encodeEvent(ev event.Event) ([]byte, error) {
	if err := check(ev); err != nil {
		return nil, err
	}
	l := line[event.Object]{Seen: ev.Seen.UTC(), Kind: ev.Kind, Type: ev.Type, Reason: ev.Reason}
	if ev.Object != nil {
		l.Object = inUTC(ev.Object)
	}
	text, err := encode(l)
	if err == nil && len(text) > maxLine {
		err = errTooLong
	}
	return text, err
}

// check keeps out of a recording what no Reader would take: hours later it could
// not be mended.
func check(ev event.Event) error {
	var known event.Type
	if err := checkSeen(ev.Seen); err != nil {
		return err
	}
	switch {
	case event.New(ev.Kind) == nil:
		return fmt.Errorf("there is no kind %d", ev.Kind)
	case known.UnmarshalText([]byte(ev.Type.String())) != nil:
		return fmt.Errorf("there is no event type %d", ev.Type)
	case !ev.Type.HasObject() && ev.Object != nil:
		return fmt.Errorf("an event of type %v has no object", ev.Type)
	case !ev.Type.HasObject():
		return nil
	case ev.Object == nil:
		return errNoObject
	case ev.Object.Kind() != ev.Kind:
		return fmt.Errorf("the object of an event of kind %v is of kind %v", ev.Kind, ev.Object.Kind())
	}
	return checkObject(ev.Object)
}

func checkObject(object event.Object) error {
	if object.Kind() != event.KindCluster && object.Metadata().Name == "" {
		return errors.New("name of the object is missing")
	}
	return nil
}

// encode writes compact JSON that ends in a newline and keeps &, < and > readable.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return b.Bytes(), nil
}

func decodeEvent(text []byte) (event.Event, error) {
	var l line[json.RawMessage]
	if err := json.Unmarshal(text, &l); err != nil {
		return event.Event{}, plain(err)
	}
	if err := checkSeen(l.Seen); err != nil {
		return event.Event{}, err
	}
	switch {
	case l.Kind == 0:
		return event.Event{}, errors.New("kind is missing")
	case l.Type == 0:
		return event.Event{}, errors.New("type is missing")
	}
	ev := event.Event{Seen: l.Seen.UTC(), Kind: l.Kind, Type: l.Type, Reason: l.Reason}
	if !l.Type.HasObject() {
		return ev, nil
	}
	object, err := decodeObject(l.Kind, l.Object)
	if err != nil {
		return event.Event{}, err
	}
	ev.Object = object
	return ev, nil
}

func decodeObject(kind event.Kind, text json.RawMessage) (event.Object, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, errNoObject
	}
	object := event.New(kind)
	if err := json.Unmarshal(text, object); err != nil {
		return nil, fmt.Errorf("object of %v: %w", kind, plain(err))
	}
	if err := checkObject(object); err != nil {
		return nil, err
	}
	return inUTC(object), nil
}

// plain turns an error of encoding/json into words about the recording instead
// of about Go types, and bounds it: it may quote a line of megabytes.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("want a JSON object, not %.40s", wrong.Value)
	case errors.As(err, &wrong):
		// encoding/json names the embedded struct too, which a recording has not.
		return fmt.Errorf("%.200q cannot be %.40s", strings.TrimPrefix(wrong.Field, "Meta."), wrong.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("bad JSON: %w", err)
	}
	const most = 200
	if text := err.Error(); len(text) > most {
		return fmt.Errorf("%.*s and so on", most, text)
	}
	return err
}
