package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const hostileDir = "testdata/hostile/"

// hostile is appended to each name in a recording. It contains markup, quotes, templates, terminal control sequences
// and very long text.
var hostile = `"'><script>document.title='ran'</script><img src=x onerror="document.title='ran'">javascript:document.title='ran'//` +
	"{{.}}${x}<%=x%>%0a&amp;\\\n\r\t>>> incident feigned\x1b[31m\x1b]0;title\a\u009b2J\u202eleft\u2028\x00\x7f" + strings.Repeat("long", 2500)

var nameFields = regexp.MustCompile(`("(?:name|node|namespace|service|writer|reason|message|image|title)":"[^"\\]+)`)

// makeHostile checks the recordings with hostile names, which end with invalid UTF-8. With -update it writes the
// recordings.
func makeHostile(t *testing.T) {
	t.Helper()
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	behind := append(bytes.Trim(quoted, `"`), 0xff, 0xc3)
	for _, name := range []string{"1-heartbeat-loss.jsonl.gz", "4-endpoints-reset.jsonl.gz"} {
		text := nameFields.ReplaceAllFunc(unzip(t, incidentsDir+name), func(field []byte) []byte { return append(bytes.Clone(field), behind...) })
		var out bytes.Buffer
		zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := zipped.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		if *update {
			write(t, hostileDir+name, out.String())
		}
		if !bytes.Equal(unzip(t, hostileDir+name), text) {
			t.Errorf("%s is not what it should be: go test ./cmd/kubeflap -update", hostileDir+name)
		}
	}
}

func unzip(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// hostileRecordings returns the paths of the recordings with hostile names.
func hostileRecordings(t *testing.T) []string {
	t.Helper()
	makeHostile(t)
	files, err := filepath.Glob(hostileDir + "*.jsonl.gz")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	return files
}

// checkPrintable checks that a text contains no control characters, and that no name starts a new line.
func checkPrintable(t *testing.T, what, text string) {
	t.Helper()
	obeyed := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if i := strings.IndexFunc(text, obeyed); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("%s: at %d there are control characters: %.80q", what, i, text[max(i, 0):])
	}
	if strings.Contains(text, "\n>>> incident feigned") {
		t.Errorf("%s: a name has started a line", what)
	}
	if !strings.Contains(text, "longlong") {
		t.Errorf("%s: there is no hostile name in it:\n%.500s", what, text)
	}
}

func TestHostileNamesOnATerminal(t *testing.T) {
	withoutRaceDetector(t)
	for _, file := range hostileRecordings(t) {
		name := filepath.Base(file)
		status, metrics, log := kubeflap(t, "replay", "--once", "--log.level=debug", file)
		if status != 0 {
			t.Fatalf("status %d: %.500s", status, log)
		}
		checkPrintable(t, "the log of "+name, log)
		families, err := parseMetrics(strings.NewReader(metrics))
		if err != nil || len(families) < 20 {
			t.Errorf("%d metrics of %s, %v", len(families), name, err)
		}
		for _, output := range []string{"text", "json"} {
			status, out, errOut := kubeflap(t, "advise", "--recording", file, "--output", output)
			if status != 3 || output == "json" && !json.Valid([]byte(out)) {
				t.Errorf("the advice on %s as %s: status %d, %.500s%.500s", name, output, status, out, errOut)
			}
			checkPrintable(t, "the advice on "+name, out)
		}
	}
}

var objectTimes = regexp.MustCompile(`("(?:renew|heartbeat|transition|deletion|started)"):"[^"]+"`)

// TestHostileTimes checks that counters stay valid for any times in objects. Clients choose these times, and the API
// server accepts any date.
func TestHostileTimes(t *testing.T) {
	withoutRaceDetector(t)
	calendar := []string{"9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:01Z", "9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00+12:00", "2262-04-12T00:00:00Z"}
	recorded, err := filepath.Glob(incidentsDir + "*.jsonl.gz")
	if err != nil || len(recorded) == 0 {
		t.Fatal(recorded, err)
	}
	for i, file := range append(recorded, recorded...) {
		n := i
		text := objectTimes.ReplaceAllFunc(unzip(t, file), func(field []byte) []byte {
			name, _, _ := bytes.Cut(field, []byte(":"))
			n++
			// In the first half of the runs, all times are equal. In the second half, consecutive times differ.
			if i < len(recorded) {
				n = i
			}
			return append(bytes.Clone(name), `:"`+calendar[n%len(calendar)]+`"`...)
		})
		path := write(t, filepath.Join(t.TempDir(), "times.jsonl"), string(text))
		status, metrics, log := kubeflap(t, "replay", "--once", "--log.level=debug", path)
		if status != 0 {
			t.Fatalf("%s: status %d: %.500s", file, status, log)
		}
		checkCounters(t, metrics)
		for _, output := range []string{"text", "json"} {
			if status, _, errOut := kubeflap(t, "advise", "--recording", path, "--output", output); status != 3 && status != 0 {
				t.Errorf("%s: the advice has status %d: %.500s", file, status, errOut)
			}
		}
	}
}

// checkCounters checks that all values are finite and no counter is negative.
func checkCounters(t *testing.T, text string) {
	t.Helper()
	families, err := parseMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.Metric {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
			if math.IsNaN(value) || math.IsInf(value, 0) {
				t.Errorf("%s %v", family.GetName(), m)
			}
			// Only clock offsets may be negative.
			if value < 0 && family.GetName() != "kubeflap_node_clock_offset_seconds" {
				t.Errorf("%s %v is negative", family.GetName(), m)
			}
		}
	}
}

// TestAnEventOfTheYear9999IsRefused checks that an event with the time of a clock that jumped is not counted.
func TestAnEventOfTheYear9999IsRefused(t *testing.T) {
	text, err := os.ReadFile(story)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, filepath.Join(t.TempDir(), "leaps.jsonl"), string(text)+`{"seen":"9999-12-31T23:59:59Z","kind":"cluster","type":"bookmark"}`+"\n")
	status, metrics, errOut := kubeflap(t, "replay", "--once", "--log.level=error", path)
	if want := path + ", line "; status != 1 || !strings.Contains(errOut, want) || !strings.Contains(errOut, "9999-12-31") {
		t.Errorf("status %d, want 1 and an error that names %q: %s", status, want, errOut)
	}
	checkCounters(t, metrics)
}

func TestHostileNamesInTheDemo(t *testing.T) {
	withoutRaceDetector(t)
	for _, file := range hostileRecordings(t) {
		recordings, err := openRecordings(period{}, file)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := newDemo(recordings, 0, &out).play(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), ">>> incident ") {
			t.Error("there is no incident")
		}
		checkPrintable(t, "the demo of "+filepath.Base(file), out.String())
	}
}

func TestHostileErrors(t *testing.T) {
	recording := write(t, filepath.Join(t.TempDir(), "r.jsonl"), `{"kubeflap":"recording","version":2}`+"\n"+
		`{"seen":"2026-03-01T12:00:00Z","kind":"\u001b]0;x\u0007\u202e","type":"listed"}`+"\n")
	status, _, errOut := kubeflap(t, "replay", "--once", "--log.level=error", recording)
	if status != 1 || strings.ContainsAny(errOut, "\x1b\a\u202e") || !strings.Contains(errOut, "line 2") {
		t.Errorf("status %d: %q", status, errOut)
	}
	status, _, errOut = kubeflap(t, "replay", "--once", "nowhere\x1b[31m\xff")
	if status != 1 || strings.Contains(errOut, "\x1b") || !utf8.ValidString(errOut) {
		t.Errorf("status %d: %q", status, errOut)
	}
}

// TestRecordingsWithHostileFileNames replays several recordings. The names of their files become label values.
func TestRecordingsWithHostileFileNames(t *testing.T) {
	text, err := os.ReadFile(story)
	if err != nil {
		t.Fatal(err)
	}
	one := write(t, filepath.Join(t.TempDir(), "a\xff\x1b\"\n{{.}}.jsonl"), string(text))
	other := write(t, filepath.Join(t.TempDir(), "b.jsonl"), string(text))
	status, out, errOut := kubeflap(t, "replay", "--once", "--log.level=error", one, other)
	if status != 0 || errOut != "" {
		t.Fatalf("status %d: %s", status, errOut)
	}
	if _, err := parseMetrics(strings.NewReader(out)); err != nil || !strings.Contains(out, `kubeflap_node_ready{cluster="b",node="node-1"} 1`) {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestProfilesAreServedOnRequest(t *testing.T) {
	for _, page := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"} {
		if got := (visitor{}).status(t, "http://"+startWith(t, "", false)+page); got != http.StatusNotFound {
			t.Errorf("%s is answered with %d, although nobody asked for profiles", page, got)
		}
	}
	address := startWith(t, "", true)
	for page, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/metrics": 200, "/debug/vars": 404} {
		response, _, err := (visitor{}).ask(t, http.MethodGet, "http://"+address+page)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.StatusCode; got != want {
			t.Errorf("%s is answered with %d, want %d", page, got, want)
		}
		if got := response.Header.Get("Referrer-Policy"); got != "no-referrer" {
			t.Errorf("%s is answered without the security headers: %q", page, got)
		}
	}
}
