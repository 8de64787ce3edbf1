package apiclient

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// document encodes an object like an API server.
func document(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := serializer.NewSerializer(nil, nil).Encode(object, &data); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// frame encodes a watch event with its length.
func frame(t *testing.T, what string, object runtime.Object) []byte {
	t.Helper()
	data, err := (&metav1.WatchEvent{Type: what, Object: runtime.RawExtension{Raw: document(t, object)}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

// answer is a response of a server.
type answer struct {
	code              int
	contentType, body string
}

func protobufAnswer(body ...[]byte) answer {
	return answer{http.StatusOK, protobuf, string(bytes.Join(body, nil))}
}

// serve returns the resource of a kind on a server, and the queries that the server receives.
func serve(t *testing.T, kind event.Kind, answers ...answer) (resource *Resource, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[min(len(*asked), len(answers)-1)]
		*asked = append(*asked, r.URL.Path+"?"+r.URL.RawQuery)
		if encoding := r.Header.Get("Accept-Encoding"); encoding != "identity" {
			t.Errorf("asked for the encoding %q", encoding)
		}
		w.Header().Set("Content-Type", a.contentType)
		w.WriteHeader(a.code)
		fmt.Fprint(w, a.body)
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	all := client.Resources("")
	return &all[slices.IndexFunc(all, func(r Resource) bool { return r.Kind == kind })], asked
}

func typeMeta(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

func apiPod() *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: typeMeta("v1", "Pod"), ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "7"},
		Spec: corev1.PodSpec{NodeName: "a"},
	}
}

func slimPod() *event.Pod {
	return &event.Pod{
		Meta: event.Meta{Namespace: "shop", Name: "web", ResourceVersion: "7"}, Node: "a", Labels: map[string]string{},
		ToleratesNotReady: &event.Toleration{}, ToleratesUnreachable: &event.Toleration{},
	}
}

func TestGet(t *testing.T) {
	missing := &metav1.Status{TypeMeta: typeMeta("v1", "Status"), Status: metav1.StatusFailure, Code: 404}
	for _, c := range []struct {
		name   string
		answer answer
		want   event.Object
		reason event.Reason
	}{
		{"it is there", protobufAnswer(document(t, apiPod())), slimPod(), event.ReasonEnded},
		{"it is not there", answer{404, protobuf, string(document(t, missing))}, nil, event.ReasonEnded},
		{"a proxy finds nothing", answer{404, "text/plain", "404 page not found"}, nil, event.ReasonAbsent},
	} {
		pods, _ := serve(t, event.KindPod, c.answer)
		got, err := pods.Get(t.Context(), "web")
		if !reflect.DeepEqual(got, c.want) || Reason(err) != c.reason {
			t.Errorf("%s: read %+v, %v", c.name, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	refusal := &metav1.Status{TypeMeta: typeMeta("v1", "Status"), Status: metav1.StatusFailure, Code: 403, Message: "pods is forbidden"}
	cut := document(t, &corev1.PodList{TypeMeta: typeMeta("v1", "PodList"), Items: []corev1.Pod{*apiPod()}})
	unreadable := func(text string) string { return errUnreadable.Error() + ": " + text }
	for _, c := range []struct {
		name   string
		answer answer
		reason event.Reason
		text   string
	}{
		{"in protobuf", answer{403, protobuf, string(document(t, refusal))}, event.ReasonForbidden, "pods is forbidden"},
		{"in JSON", answer{403, "application/json", `{"kind":"Status","code":403,"message":"pods is forbidden"}`}, event.ReasonForbidden, "pods is forbidden"},
		{"of a proxy", answer{503, "text/html", "<html>\nbusy"}, event.ReasonServerError, "503 Service Unavailable: <html>"},
		{"of a proxy, in JSON", answer{429, "application/json", `{"error":"slow down"}`}, event.ReasonThrottled, `429 Too Many Requests: {"error":"slow down"}`},
		{"a timeout", answer{504, "text/plain", ""}, event.ReasonTimeout, "504 Gateway Timeout: "},
		{"the request is wrong", answer{400, "text/plain", "no"}, event.ReasonOther, "400 Bad Request: no"},
		{"a page", answer{200, "text/html", "<html>"}, event.ReasonUnreadable, unreadable("http://127.0.0.1:")},
		{"no content type", answer{200, "", "<html>"}, event.ReasonUnreadable, unreadable("http://127.0.0.1:")},
		{"no protobuf", answer{406, "application/json", "{}"}, event.ReasonUnreadable, unreadable("http://127.0.0.1:")},
		{"another list", protobufAnswer(document(t, &corev1.NodeList{TypeMeta: typeMeta("v1", "NodeList")})), event.ReasonUnreadable, unreadable(`malformed list: got the kind "NodeList" instead of PodList`)},
		{"JSON in disguise", protobufAnswer([]byte(`{"kind":"PodList"}`)), event.ReasonUnreadable, unreadable("malformed list: it is not in protobuf")},
		{"half a list", protobufAnswer(cut[:len(cut)-5]), event.ReasonUnreadable, unreadable("malformed list: it is cut off")},
		{"nothing", protobufAnswer(), event.ReasonUnreadable, unreadable("malformed list: it is cut off")},
	} {
		t.Run(c.name, func(t *testing.T) {
			pods, _ := serve(t, event.KindPod, c.answer)
			_, err := pods.List(t.Context(), false, func(event.Object) {})
			if err == nil || Reason(err) != c.reason || !strings.HasPrefix(err.Error(), c.text) {
				t.Errorf("got %s: %v", Reason(err), err)
			}
			if !IsAnswered(err) {
				t.Error("it was not answered")
			}
		})
	}
}

func TestStream(t *testing.T) {
	pod := apiPod()
	expired := &metav1.Status{TypeMeta: typeMeta("v1", "Status"), Code: 410, Message: "too old"}
	events := [][]byte{
		frame(t, "ADDED", pod), frame(t, "MODIFIED", pod), frame(t, "DELETED", pod),
		frame(t, "BOOKMARK", &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8"}}),
	}
	for _, c := range []struct {
		name   string
		last   []byte
		reason event.Reason
		text   string
	}{
		{"the end", nil, event.ReasonConnectionLost, "EOF"},
		{"half an event", frame(t, "ADDED", pod)[:20], event.ReasonConnectionLost, "EOF"},
		{"half a length", []byte{0, 0}, event.ReasonConnectionLost, "EOF"},
		{"an error", frame(t, "ERROR", expired), event.ReasonExpired, "too old"},
		{"a huge event", []byte{1, 0, 0, 1}, event.ReasonConnectionLost, "the connection was lost: an event has 16777217 bytes"},
		{"no event", []byte{0, 0, 0, 2, 10, 9}, event.ReasonUnreadable, "the response is unreadable: read a watch event: unexpected EOF"},
		{"another kind", frame(t, "ADDED", &corev1.Node{TypeMeta: typeMeta("v1", "Node")}), event.ReasonUnreadable, `the response is unreadable: got the kind "Node" instead of Pod`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pods, asked := serve(t, event.KindPod, protobufAnswer(append(slices.Clone(events), c.last)...))
			stream, err := pods.Watch(t.Context(), "7", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			for _, want := range []event.Type{event.Added, event.Modified, event.Deleted} {
				if e, err := stream.Next(); err != nil || e.Type != want || !reflect.DeepEqual(e.Object, slimPod()) {
					t.Errorf("got %s %+v, %v", e.Type, e.Object, err)
				}
			}
			if e, err := stream.Next(); err != nil || e.Type != event.Bookmark || e.Object.Metadata().ResourceVersion != "8" {
				t.Errorf("got %s %+v, %v", e.Type, e.Object, err)
			}
			if _, err := stream.Next(); err == nil || Reason(err) != c.reason || err.Error() != c.text {
				t.Errorf("it ended with %s: %v", Reason(err), err)
			}
			if want := "/api/v1/pods?allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=60&watch=true"; (*asked)[0] != want {
				t.Errorf("asked for %s", (*asked)[0])
			}
		})
	}
}

// counted is a response body that counts its reads.
type counted struct {
	bytes.Buffer
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Buffer.Read(p)
}

func (c *counted) Close() error { return nil }

func TestEventsThatHaveComeAreTakenAtOnce(t *testing.T) {
	pods, _ := serve(t, event.KindPod, answer{})
	var come counted
	const events = 100
	for range events {
		come.Write(frame(t, "ADDED", apiPod()))
	}
	stream := newStream(pods, &come)
	for range events {
		if _, err := stream.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) || come.reads > 2 {
		t.Errorf("%d reads, and then %v; want 2 at most, and the end", come.reads, err)
	}
}
