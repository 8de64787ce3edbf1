package recording

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// appendEvent appends the line of an event. The text is the one of encoding/json, which needs several times as long, and
// allocates memory for each UID, time and map. kubeflap's heap is small, so garbage costs much CPU time.
func appendEvent(text []byte, ev event.Event) []byte {
	text = appendTime(append(text, `{"seen":`...), ev.Seen.UTC())
	text = append(append(text, `,"kind":"`...), ev.Kind.String()...)
	text = append(append(text, `","type":"`...), ev.Type.String()...)
	text = append(text, '"')
	if ev.Reason != "" {
		text = appendText(append(text, `,"reason":`...), string(ev.Reason))
	}
	if ev.Object != nil {
		text = objects[ev.Kind](append(text, `,"object":`...), reflect.ValueOf(ev.Object).Elem())
	}
	return append(text, '}', '\n')
}

// appender appends the JSON of an addressable value.
type appender func(text []byte, v reflect.Value) []byte

// objects contains the appender of each kind of object.
var objects = func() (all [event.NumKinds]appender) {
	for kind := range all {
		if object := event.New(event.Kind(kind)); object != nil {
			all[kind] = appenderOf(reflect.TypeOf(object).Elem())
		}
	}
	return all
}()

// appenderOf returns the appender of a type. It never converts a value to an interface, because this allocates memory.
func appenderOf(of reflect.Type) appender {
	switch of {
	case reflect.TypeFor[time.Time]():
		return func(text []byte, v reflect.Value) []byte { return appendTime(text, *v.Addr().Interface().(*time.Time)) }
	case reflect.TypeFor[event.UID]():
		return func(text []byte, v reflect.Value) []byte {
			return append(v.Addr().Interface().(*event.UID).Append(append(text, '"')), '"')
		}
	case reflect.TypeFor[event.Status]():
		return func(text []byte, v reflect.Value) []byte { return appendText(text, event.Status(v.Uint()).String()) }
	}
	switch of.Kind() {
	case reflect.Struct:
		return structAppender(of)
	case reflect.Slice:
		return listAppender(appenderOf(of.Elem()))
	case reflect.Pointer:
		element := appenderOf(of.Elem())
		return func(text []byte, v reflect.Value) []byte { return element(text, v.Elem()) }
	case reflect.Map:
		return func(text []byte, v reflect.Value) []byte {
			return appendMap(text, *v.Addr().Interface().(*map[string]string))
		}
	case reflect.String:
		return func(text []byte, v reflect.Value) []byte { return appendText(text, v.String()) }
	case reflect.Bool:
		return func(text []byte, v reflect.Value) []byte { return strconv.AppendBool(text, v.Bool()) }
	}
	return func(text []byte, v reflect.Value) []byte { return strconv.AppendInt(text, v.Int(), 10) }
}

func listAppender(element appender) appender {
	return func(text []byte, v reflect.Value) []byte {
		text = append(text, '[')
		for i := range v.Len() {
			if i > 0 {
				text = append(text, ',')
			}
			text = element(text, v.Index(i))
		}
		return append(text, ']')
	}
}

// structField is a field of a struct. The name is in quotes and followed by a colon.
type structField struct {
	path   []int
	name   string
	omit   func(reflect.Value) bool
	append appender
}

// structAppender returns the appender of a struct with the tags of encoding/json.
func structAppender(of reflect.Type) appender {
	var fields []structField
	for _, f := range reflect.VisibleFields(of) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" { // event.Meta, whose fields are also fields of the object, and Workload.Resource
			continue
		}
		omit := func(reflect.Value) bool { return false }
		switch kind := f.Type.Kind(); {
		case option == "omitempty" && (kind == reflect.Slice || kind == reflect.Map):
			omit = func(v reflect.Value) bool { return v.Len() == 0 }
		case option != "":
			omit = reflect.Value.IsZero
		}
		fields = append(fields, structField{f.Index, `"` + name + `":`, omit, appenderOf(f.Type)})
	}
	return func(text []byte, v reflect.Value) []byte {
		before := len(text)
		text = append(text, '{')
		for i := range fields {
			field := &fields[i]
			value := v.FieldByIndex(field.path)
			if field.omit(value) {
				continue
			}
			if len(text) > before+1 {
				text = append(text, ',')
			}
			text = field.append(append(text, field.name...), value)
		}
		return append(text, '}')
	}
}

// appendMap appends a map in the order of its keys.
func appendMap(text []byte, m map[string]string) []byte {
	var few [16]string // more keys need an allocation
	keys := few[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	text = append(text, '{')
	for i, key := range keys {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendText(append(appendText(text, key), ':'), m[key])
	}
	return append(text, '}')
}

func appendTime(text []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(text, '"'), time.RFC3339Nano), '"')
}

func appendText(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return appendEscaped(text, s)
		}
	}
	return append(append(append(text, '"'), s...), '"')
}

// appendEscaped appends a text that contains more than plain ASCII, which is rare.
func appendEscaped(text []byte, s string) []byte {
	text, _ = appendJSON(text, s) // a text has no errors
	return text
}

// appendJSON appends a value as encoding/json writes it, with < and > as they are.
func appendJSON(text []byte, v any) ([]byte, error) {
	buffer := bytes.NewBuffer(text)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}
