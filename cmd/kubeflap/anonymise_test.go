package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// realName begins all names of the test's cluster. No pseudonym, and no word of Kubernetes, contains it.
const realName = "realname"

// fillNames gives every field of an object a value. Texts are distinctive names.
func fillNames(v reflect.Value, name string) {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		return
	case *event.UID:
		*at = event.ParseUID(name)
		return
	case *event.Status:
		*at = event.StatusTrue
		return
	case *event.Kind:
		return // the event has it
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillNames(v.Field(i), name+"-"+strings.ToLower(v.Type().Field(i).Name))
		}
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillNames(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillNames(v.Index(0), name)
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{name + "-key": name + "-value"}))
	default:
		panic("the test cannot fill a " + v.Type().String())
	}
}

// namedEvents returns a list, changes and a broken watch of each resource. Every field of every object has a value.
func namedEvents(t *testing.T, now time.Time) (all []event.Event) {
	t.Helper()
	for _, kind := range append(append(event.Kinds(), event.KindCluster), event.OptionalKinds()...) {
		for typ := event.Added; typ <= event.DirectReadUnanswered; typ++ {
			if kind == event.KindCluster && typ != event.Added && typ != event.Modified && typ != event.Listed {
				continue
			}
			e := event.Event{Seen: now, Kind: kind, Type: typ}
			if typ.HasObject() {
				e.Object = event.New(kind)
				fillNames(reflect.ValueOf(e.Object).Elem(), fmt.Sprintf("%s-%s-%s", realName, kind, typ))
			} else if typ == event.Down || typ == event.Unavailable {
				e.Reason = realName + "-reason"
			}
			all = append(all, e)
		}
	}
	return all
}

// TestNoRealNameIsDownloaded checks that an anonymised download contains none of the names, addresses and UIDs in any
// field that is recorded. It covers new fields automatically.
func TestNoRealNameIsDownloaded(t *testing.T) {
	dir, now := t.TempDir(), time.Now().Add(-time.Minute)
	events := namedEvents(t, now)
	recordAll(t, dir, nil, events)
	address := startDownloads(t, dir, webConfig(t, onePassword))
	download := func(query string) string {
		period := url.Values{"from": {now.Add(-time.Hour).Format(time.RFC3339)}}.Encode()
		response, text, err := (visitor{user: "reader", password: "sesame"}).ask(t, http.MethodGet, "http://"+address+"/api/v1/recording?"+period+query)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v %v %.200s", response, err, text)
		}
		for name, values := range response.Header {
			if strings.Contains(strings.Join(values, " "), realName) {
				t.Errorf("header %s: %q", name, values)
			}
		}
		return string(unzip(t, write(t, filepath.Join(t.TempDir(), "download"), text)))
	}
	whole, anonymous := download(""), download("&anonymise")
	if n := strings.Count(whole, realName); n < 200 {
		t.Errorf("the recording has %d real names; the test proves nothing", n)
	}
	for line := range strings.Lines(anonymous) {
		if strings.Contains(strings.ToLower(line), realName) {
			t.Errorf("a real name in %s", line)
		}
	}
	if got, want := strings.Count(anonymous, "\n"), strings.Count(whole, "\n"); got != want {
		t.Errorf("the anonymised recording has %d lines, the other %d", got, want)
	}
	for _, e := range events {
		if e.Object == nil || e.Object.Metadata().UID.IsZero() {
			continue
		}
		if uid := e.Object.Metadata().UID.String(); !strings.Contains(whole, uid) || strings.Contains(anonymous, uid) {
			t.Errorf("UID %s: in the recording %t, in the anonymised one %t", uid, strings.Contains(whole, uid), strings.Contains(anonymous, uid))
		}
	}
}

// TestTheAnonymiseCommand checks that the copies of a recording and of a directory contain no real names, and that they
// have the same incidents.
func TestTheAnonymiseCommand(t *testing.T) {
	dir := t.TempDir()
	recordAll(t, dir, nil, namedEvents(t, time.Now()))
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	must(t, "anonymise", dir, copied)
	text, err := os.ReadFile(copied)
	if err != nil || strings.Contains(strings.ToLower(string(text)), realName) || strings.Count(string(text), "\n") < 50 {
		t.Errorf("%v\n%s", err, text)
	}
	renamed := strings.NewReplacer(`"node-`, `"realname-`, `"shop"`, `"realname-shop"`, `"web`, `"realname-web`).Replace(string(unzip(t, lostNode)))
	original, anonymised := write(t, filepath.Join(t.TempDir(), "renamed.jsonl"), renamed), filepath.Join(t.TempDir(), "copy.jsonl.gz")
	must(t, "anonymise", original, anonymised)
	if out := must(t, "incidents", original, "-o=markdown"); strings.Count(out, realName) < 10 {
		t.Fatalf("the recording has no real names:\n%s", out)
	}
	out := must(t, "incidents", anonymised, "-o=markdown")
	if strings.Contains(out, realName) || !strings.Contains(out, "**What:** node node-") || !strings.Contains(out, "Names are pseudonyms") {
		t.Errorf("real names in\n%s", out)
	}
	if status, _, errOut := kubeflap(t, "anonymise", original, anonymised); status == 0 || !strings.Contains(errOut, "already exists") {
		t.Errorf("status %d, %s", status, errOut)
	}
}

// TestAnonymisingADamagedRecording checks that a recording that is cut short is copied up to this point, and that nothing
// remains of any other damage.
func TestAnonymisingADamagedRecording(t *testing.T) {
	text, err := os.ReadFile(lostNode)
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(t.TempDir(), "whole.jsonl")
	must(t, "anonymise", lostNode, whole)
	lines, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cut": string(text[:len(text)/2]), "damaged": string(lines) + "{]\n{}\n"} {
		copied := filepath.Join(t.TempDir(), "copy.jsonl")
		status, _, errOut := kubeflap(t, "anonymise", write(t, filepath.Join(t.TempDir(), name), want), copied)
		got, err := os.ReadFile(copied)
		if name == "cut" && (status != 0 || !strings.Contains(errOut, "the end of the recording is missing") || len(got) < 1000 || !strings.HasPrefix(string(lines), string(got))) {
			t.Errorf("%s: status %d, %s, %d bytes", name, status, errOut, len(got))
		}
		if name == "damaged" && (status == 0 || err == nil) {
			t.Errorf("%s: status %d, %s, %d bytes", name, status, errOut, len(got))
		}
	}
}
