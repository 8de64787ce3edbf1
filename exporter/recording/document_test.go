package recording

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

var update = flag.Bool("update", false, "write the lists of docs/recording-format.md")

// row is an entry of a list in the document: a name and, in parentheses, its type. Its meaning comes from the document.
type row struct{ name, kind string }

// tables returns the expected lists. The keys are the comments above the document's lists.
func lists() map[string][]row {
	lists := map[string][]row{
		"fields of the header": {
			{"kubeflap", "string, always"},
			{"version", "integer, always"},
		},
		"fields of an event": fields(reflect.TypeFor[line]()),
	}
	lists["fields of the header"] = append(lists["fields of the header"], fields(reflect.TypeFor[Header]())...)
	lists["fields of all objects"] = fields(reflect.TypeFor[event.Meta]())
	for _, kind := range append(append(event.Kinds(), event.KindCluster), event.OptionalKinds()...) {
		lists["kinds"] = append(lists["kinds"], row{name: kind.String()})
		object := reflect.TypeOf(event.New(kind)).Elem()
		lists["fields of "+object.Name()] = fields(object)[len(lists["fields of all objects"]):]
	}
	for eventType := event.Added; !strings.HasPrefix(eventType.String(), "invalid"); eventType++ {
		object := map[bool]string{true: "with object"}[eventType.HasObject()]
		lists["types"] = append(lists["types"], row{eventType.String(), object})
	}
	for _, part := range []any{
		event.Taint{},
		event.LifecycleCondition{},
		event.Problem{},
		event.Condition{},
		event.Container{},
		event.Toleration{},
		event.ControllerManager{},
		event.ControllerManagerFlags{},
		event.Address{},
	} {
		lists["fields of "+reflect.TypeOf(part).Name()] = fields(reflect.TypeOf(part))
	}
	return lists
}

func fields(of reflect.Type) []row {
	var rows []row
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous {
			rows = append(rows, fields(field.Type)...)
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		kind := typeName(field.Type)
		switch {
		case options != "" && field.Type.Kind() == reflect.Pointer, options == "omitzero" && field.Type.Kind() == reflect.Map:
			kind += ", optional"
		case options == "":
			kind += ", always"
		}
		rows = append(rows, row{name, kind})
	}
	return rows
}

func typeName(of reflect.Type) string {
	switch of {
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[time.Duration]():
		return "nanoseconds"
	case reflect.TypeFor[event.UID]():
		return "uid"
	case reflect.TypeFor[json.RawMessage]():
		return "any"
	case reflect.TypeFor[event.Status]():
		return "status"
	case reflect.TypeFor[event.Kind](), reflect.TypeFor[event.Type]():
		return "string"
	}
	switch of.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Pointer:
		return typeName(of.Elem())
	case reflect.Slice:
		return "list of " + typeName(of.Elem())
	case reflect.Map:
		return "map of " + typeName(of.Elem())
	case reflect.Struct: // ControllerManager becomes "controller manager"
		return strings.ToLower(regexp.MustCompile(`(.)([A-Z])`).ReplaceAllString(of.Name(), "$1 $2"))
	case reflect.Interface:
		return "object"
	}
	return of.Kind().String()
}

// TestDocumentHasTheFieldsOfTheCode compares the document's lists with the structs.
func TestDocumentHasTheFieldsOfTheCode(t *testing.T) {
	const path = "../../docs/recording-format.md"
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`<!-- (.+) -->\n((?:- .*\n)*)<!-- end -->`)
	want := lists()
	after := list.ReplaceAllStringFunc(string(before), func(text string) string {
		parts := list.FindStringSubmatch(text)
		rows, ok := want[parts[1]]
		if !ok {
			t.Errorf("%s: the list %q is of nothing", path, parts[1])
		}
		delete(want, parts[1])
		return fmt.Sprintf("<!-- %s -->\n%s<!-- end -->", parts[1], rewritten(t, parts[2], rows))
	})
	for name := range want {
		t.Errorf("%s: the list %q is missing", path, name)
	}
	if after == string(before) {
		return
	}
	if !*update {
		t.Fatalf("%s does not have the fields of the code; go test ./exporter/recording -run TestDocument -update", path)
	}
	if err := os.WriteFile(path, []byte(after), 0o644); err != nil { //nolint:gosec // everybody may read the document
		t.Fatal(err)
	}
}

// rewritten returns the rows from the code, with the meanings from the document.
func rewritten(t *testing.T, list string, rows []row) string {
	t.Helper()
	meanings := map[string]string{}
	for _, entry := range regexp.MustCompile("(?m)^- `([^`]+)`(?: \\([^)]*\\))?: (.+)$").FindAllStringSubmatch(list, -1) {
		meanings[entry[1]] = entry[2]
	}
	var b strings.Builder
	for _, row := range rows {
		if meanings[row.name] == "" {
			t.Errorf("docs/recording-format.md does not say what %s means: write it after the colon", row.name)
		}
		kind := ""
		if row.kind != "" {
			kind = " (" + row.kind + ")"
		}
		fmt.Fprintf(&b, "- `%s`%s: %s\n", row.name, kind, meanings[row.name])
	}
	return b.String()
}

// TestDocumentListsTheLabels checks that the document lists each node label beside what it identifies, and no others.
func TestDocumentListsTheLabels(t *testing.T) {
	text, err := os.ReadFile("../../docs/recording-format.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	for _, label := range event.NodeLabels() {
		want[label.Identifies] = append(want[label.Identifies], "`"+label.Key+"`")
	}
	_, table, _ := strings.Cut(string(text), "| identifies | labels |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		identifies, labels, _ := strings.Cut(strings.Trim(row, "| "), " | ")
		if labels != strings.Join(want[identifies], ", ") {
			t.Errorf("%s: the document lists %s, the code %s", identifies, labels, want[identifies])
		}
		delete(want, identifies)
	}
	if len(want) > 0 {
		t.Errorf("the document does not list %v", want)
	}
}

// TestExamplesOfTheDocumentAreRead checks that Reader accepts the document's examples.
func TestExamplesOfTheDocumentAreRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/recording-format.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```json\n(.+?)```").FindStringSubmatch(string(text))
	if example == nil {
		t.Fatal("the document has no example")
	}
	if count, err := drain(strings.NewReader(example[1])); err != nil || count != strings.Count(example[1], "\n")-1 {
		t.Errorf("read %d events, then %v", count, err)
	}
}
