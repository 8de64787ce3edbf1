// Package fromjson converts JSON documents of the API to protobuf, so that exporter/decode needs only one reader. Only
// some proxies and servers send JSON, so the conversion need not be fast.
package fromjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// table is a list of the fields to convert, with their JSON names, protobuf numbers and converters.
type table []struct {
	name    string
	number  protowire.Number
	convert converter
}

// converter appends a field to a message. `path` is the location of the JSON value, for error messages.
type converter func(to []byte, number protowire.Number, path string, value []byte) ([]byte, error)

// Document converts an object or a list of a watched kind, and returns its kind and message. For other documents, the
// message is nil, and the kind may be empty. It returns an error if a field has the wrong type.
func Document(data []byte) (kind string, message []byte, err error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || json.Unmarshal(fields["kind"], &kind) != nil {
		return "", nil, nil
	}
	t, watched := documents[kind]
	if !watched {
		return kind, nil, nil
	}
	if message, err = t.message(kind, data); err != nil {
		return "", nil, err
	}
	return kind, message, nil
}

// message converts an object. Like the API's own decoder, it is case-sensitive and treats null as absent.
func (t table) message(path string, object []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil, wrong(path, "an object")
	}
	var message []byte
	for _, f := range t {
		value, found := fields[f.name]
		if !found || string(value) == "null" {
			continue
		}
		var err error
		if message, err = f.convert(message, f.number, path+"."+f.name, value); err != nil {
			return nil, err
		}
	}
	return message, nil
}

func (t table) convert(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	message, err := t.message(path, value)
	return appendBytes(to, number, message), err
}

// each returns a converter for a list whose elements are converted by `convert`. A null element becomes an empty
// element.
func each(convert converter) converter {
	return func(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) != nil {
			return nil, wrong(path, "a list")
		}
		for i, element := range elements {
			var err error
			if to, err = convert(to, number, fmt.Sprintf("%s[%d]", path, i), element); err != nil {
				return nil, err
			}
		}
		return to, nil
	}
}

func text(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, wrong(path, "a string")
	}
	return appendBytes(to, number, []byte(s)), nil
}

func boolean(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var b bool
	if json.Unmarshal(value, &b) != nil {
		return nil, wrong(path, "true or false")
	}
	return appendVarint(to, number, protowire.EncodeBool(b)), nil
}

func integer64(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var n int64
	if json.Unmarshal(value, &n) != nil {
		return nil, wrong(path, "a 64-bit integer")
	}
	return appendVarint(to, number, uint64(n)), nil
}

func integer(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var n int32
	if json.Unmarshal(value, &n) != nil {
		return nil, wrong(path, "a 32-bit integer")
	}
	return appendVarint(to, number, uint64(n)), nil
}

// timestamp converts a metav1.Time or a metav1.MicroTime. Their decoders differ only in the precision of the fraction.
func timestamp(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, wrong(path, "a time")
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, wrong(path, "a time")
	}
	message := appendVarint(nil, 1, uint64(t.Unix()))
	return appendBytes(to, number, appendVarint(message, 2, uint64(t.Nanosecond()))), nil
}

// pairs converts a map of strings.
func pairs(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var all map[string]string
	if json.Unmarshal(value, &all) != nil {
		return nil, wrong(path, "an object of strings")
	}
	for key, value := range all {
		pair := appendBytes(nil, 1, []byte(key))
		to = appendBytes(to, number, appendBytes(pair, 2, []byte(value)))
	}
	return to, nil
}

// fieldsV1 copies the JSON of a FieldsV1, because the protobuf message contains the same JSON. It removes spaces,
// because exporter/decode expects the format of API servers.
func fieldsV1(to []byte, number protowire.Number, path string, value []byte) ([]byte, error) {
	var raw bytes.Buffer
	if json.Compact(&raw, value) != nil {
		return nil, wrong(path, "JSON")
	}
	return appendBytes(to, number, appendBytes(nil, 1, raw.Bytes())), nil
}

func wrong(path, want string) error { return fmt.Errorf("%s: want %s", path, want) }

func appendBytes(to []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
}

func appendVarint(to []byte, number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), value)
}
