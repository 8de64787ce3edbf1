package postmortem

import (
	"bytes"
	"encoding/xml"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/web/api"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// fill sets all strings to text, all numbers to 3 and all times to noon. Lists get two elements.
func fill(v reflect.Value, text string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(noon))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), text)
		fill(v.Index(1), text)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, text)
		}
	}
}

// hostile returns inputs in which every text is hostile. There are several, because some fields replace others.
func hostile(text string) (all []Input) {
	for _, change := range []func(*Input){
		func(*Input) {},
		func(in *Input) { in.Source.Recording, in.Advice, in.WhatIf = nil, nil, nil },
		func(in *Input) {
			in.Filter = Filter{}
			for i := range in.Answer.Incidents {
				x := &in.Answer.Incidents[i]
				x.Withdrawn = ""
				x.Considered[0].Holds, x.Considered[1].Holds = "yes", "no"
			}
		},
		func(in *Input) {
			in.Answer.Incidents = in.Answer.Incidents[:1]
			in.Answer.Incidents[0].Withdrawn, in.Answer.Incidents[0].Verdict = "", "undecided"
		},
	} {
		in := Input{}
		fill(reflect.ValueOf(&in).Elem(), text)
		in.Filter.Node = ""
		change(&in)
		all = append(all, in)
	}
	return all
}

// TestMarkdownStaysText checks that names and messages do not become markup: no tag, link, emphasis, code, table cell,
// heading or newline.
func TestMarkdownStaysText(t *testing.T) {
	const text = "<script>alert(1)</script> [a](javascript:b) **c** _d_ `e` | f ~~g~~ $h$ &lt; https://i.example www.j.example\n# k\r\n- l\u202e ```"
	for i, in := range hostile(text) {
		var out bytes.Buffer
		if err := Markdown(&out, &in); err != nil {
			t.Fatal(err)
		}
		inCode, times := false, 0
		for line := range strings.Lines(out.String()) {
			switch {
			case strings.HasPrefix(line, "```"):
				inCode = !inCode
				continue
			case inCode:
				// Only a line that begins with the fence, after at most a few spaces, ends a code block.
				if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
					t.Errorf("%d: a line ends the block of code: %q", i, line)
				}
				continue
			}
			times += strings.Count(line, "script")
			if bare := unescaped(line); bare != "" {
				t.Errorf("%d: markup %s in %q", i, bare, line)
			}
			if strings.ContainsAny(line, "\r\u202e") || strings.HasPrefix(line, "# k") || strings.HasPrefix(line, "- l") {
				t.Errorf("%d: %q", i, line)
			}
		}
		if times < 30 || inCode {
			t.Errorf("%d: only %d hostile texts in\n%s", i, times, &out)
		}
	}
}

// unescaped returns the first markup in a line that does not come from the templates.
func unescaped(line string) string {
	line = regexp.MustCompile(`\\.`).ReplaceAllString(line, "")              // remove escaped characters
	line = regexp.MustCompile("`[a-z0-9_./ -]*`").ReplaceAllString(line, "") // remove the report's own identifiers
	if strings.HasPrefix(line, "|") {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|\n")
		line = strings.ReplaceAll(line, " | ", "")
	}
	if strings.HasPrefix(line, "- **") {
		line = strings.Replace(line[4:], "** (", "", 1)
	}
	line = strings.TrimLeft(line, "#")
	return regexp.MustCompile("[<>*_`|~$&\\[\\]]|://|www\\.").FindString(line)
}

func TestHTMLStaysText(t *testing.T) {
	for i, in := range hostile("<script>alert(1)</script><img src=x onerror=y> \"'><b>\u202e") {
		var out bytes.Buffer
		if err := HTML(&out, &in); err != nil {
			t.Fatal(err)
		}
		page := out.String()
		if tag := regexp.MustCompile(`<(script|img|b|link|iframe|form)\b`).FindString(page); tag != "" || strings.Contains(page, "\u202e") {
			t.Errorf("%d: %s in\n%s", i, tag, page)
		}
		if n := strings.Count(page, "&lt;script&gt;"); n < 30 {
			t.Errorf("%d: only %d hostile texts", i, n)
		}
		wellFormed(t, page)
	}
}

// wellFormed checks that all tags are closed.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, []string{"meta"}, xml.HTMLEntity
	depth := 0
	for {
		token, err := decoder.Token()
		if err == io.EOF { //nolint:errorlint // the decoder returns io.EOF itself
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("%d elements are not closed", depth)
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"shop/web lost 2": "shop/web lost 2", "25.9s": "25.9s", "1. one": `1\. one`, "2) two": `2\) two`, "--flag=1": "--flag=1", "- item": `\- item`,
		"---": `\---`, "# head": `\# head`, "a_b|c": `a\_b\|c`, "a\nb": `a\\x0ab`, "see https://x.y": `see https\://x.y`, "WWW.x.y": `WWW\.x.y`, "  x": "x", "": "",
	} {
		if got := escape(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"node-1": "`node-1`", "a`b": "a\\`b", "": "", "a|b": `a\|b`} {
		if got := code(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

// TestAReportOfANewerKubeflap uses a verdict, scope and lane that this version does not know.
func TestAReportOfANewerKubeflap(t *testing.T) {
	in := Input{From: at(0), To: at(60), NoAdvice: "none", Answer: api.Answer{AsOf: at(60), Incidents: []api.Incident{{
		Verdict: "gremlins", Scope: "moon", Subject: "crater", Start: at(10), Summary: "Something happened.",
		Timeline: []api.Span{{Lane: "tides", Name: "x", Start: at(10)}},
	}}}}
	var out bytes.Buffer
	if err := Markdown(&out, &in); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| crater | `gremlins` | gremlins |", "x: tides 50 s", "1 incident was still ongoing at 2026-03-01 12:01:00.0 UTC."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
}

func TestAdviceAboutOthersIsLeftOut(t *testing.T) {
	cluster, shop := report.Recommendation{}, report.Recommendation{Namespace: "shop", Services: []string{"web"}}
	web, db := report.Recommendation{Namespace: "shop", Service: "web"}, report.Recommendation{Namespace: "shop", Service: "db"}
	for _, c := range []struct {
		filter                 Filter
		cluster, shop, web, db bool
	}{
		{Filter{}, true, true, true, true},
		{Filter{Namespace: "shop", Service: "web"}, true, true, true, false},
		{Filter{Namespace: "shop", Service: "db"}, true, false, false, true},
		{Filter{Namespace: "shop"}, true, true, true, true},
		{Filter{Namespace: "else"}, true, false, false, false},
		{Filter{Node: "node-1"}, true, false, false, false},
	} {
		got := []bool{c.filter.matchesRecommendation(&cluster), c.filter.matchesRecommendation(&shop), c.filter.matchesRecommendation(&web), c.filter.matchesRecommendation(&db)}
		if want := []bool{c.cluster, c.shop, c.web, c.db}; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %v, want %v", c.filter, got, want)
		}
	}
}

// TestPredictionsInAReport checks the predictions for other settings, and the reasons why there are none.
func TestPredictionsInAReport(t *testing.T) {
	silence := answer.Transition{Node: "node-1", Predicted: answer.Yes}
	rows := []answer.Row{{GracePeriodSeconds: 20, Recorded: true, Transitions: []answer.Transition{silence}}, {GracePeriodSeconds: 40, Knee: true}}
	given := &answer.Answer{From: at(0), To: at(60), Nodes: 3, Settings: rows, CannotSay: []string{"The effect of another load."}}
	quiet := &answer.Answer{From: at(0), To: at(60), Nodes: 3, Settings: rows[1:]}
	for name, test := range map[string]struct {
		given *answer.Answer
		want  []string
	}{
		"a table":      {given, []string{"20s", "recorded", "40s", "Knee: grace period 40s.", "not causes", "The recording does not show:", "The effect of another load."}},
		"no silence":   {quiet, []string{"no silence was long enough for another grace period to make a difference."}},
		"no nodes":     {&answer.Answer{NoPrediction: "the recording has no heartbeats of nodes"}, []string{"There is no prediction for other settings: the recording has no heartbeats of nodes."}},
		"no recording": {nil, []string{"There is no prediction for other settings: it needs one."}},
	} {
		for format, write := range map[string]func(io.Writer, *Input) error{"Markdown": Markdown, "HTML": HTML} {
			var out bytes.Buffer
			if err := write(&out, &Input{From: at(0), To: at(60), NoAdvice: "none", WhatIf: test.given, NoWhatIf: "it needs one"}); err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s as %s: there is no %q in\n%s", name, format, want, &out)
				}
			}
			if tables := strings.Count(out.String(), "traffic to dead nodes"); (tables > 0) != (name == "a table") {
				t.Errorf("%s as %s: %d tables", name, format, tables)
			}
		}
	}
}
