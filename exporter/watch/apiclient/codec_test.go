package apiclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// server encodes responses like an API server.
type server struct {
	t    *testing.T
	info runtime.SerializerInfo
	// negotiator is the client's negotiator.
	negotiator runtime.ClientNegotiator
}

func newServer(t *testing.T, mediaType string) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	info, ok := runtime.SerializerInfoForMediaType(serializer.NewCodecFactory(scheme).SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatal("no such type:", mediaType)
	}
	return &server{t, info, runtime.NewClientNegotiator(newCodecs(newScheme(), event.KindLease), corev1.SchemeGroupVersion)}
}

func (s *server) write(object runtime.Object) []byte {
	s.t.Helper()
	data, err := runtime.Encode(s.info.Serializer, object)
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

// answer encodes a response and returns the object that the client decodes.
func (s *server) answer(object runtime.Object) runtime.Object {
	s.t.Helper()
	decoder, err := s.negotiator.Decoder(s.info.MediaType, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	read, _, err := decoder.Decode(s.write(object), nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return read
}

// event encodes a watch event and returns the type and object that the client decodes.
func (s *server) event(what string, object runtime.Object) (string, runtime.Object) {
	s.t.Helper()
	embedded, frames, _, err := s.negotiator.StreamDecoder(s.info.MediaType, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := runtime.Encode(s.info.StreamSerializer.Serializer, &metav1.WatchEvent{Type: what, Object: runtime.RawExtension{Raw: s.write(object)}})
	if err != nil {
		s.t.Fatal(err)
	}
	var opened metav1.WatchEvent
	if _, _, err := frames.Decode(data, nil, &opened); err != nil {
		s.t.Fatal(err)
	}
	read, err := runtime.Decode(embedded, opened.Object.Raw)
	if err != nil {
		s.t.Fatal(err)
	}
	clear(data) // the buffer is reused
	return opened.Type, read
}

var (
	apiV1   = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	apiPod  = &corev1.Pod{TypeMeta: apiV1, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "7"}, Spec: corev1.PodSpec{NodeName: "a"}}
	slimWeb = &event.Pod{
		Meta: event.Meta{Namespace: "shop", Name: "web", ResourceVersion: "7"}, Node: "a", Labels: map[string]string{},
		ToleratesNotReady: &event.Toleration{}, ToleratesUnreachable: &event.Toleration{},
	}
)

func TestAnswersAreRead(t *testing.T) {
	s := newServer(t, runtime.ContentTypeProtobuf)
	wantItem(t, s.answer(apiPod), slimWeb, "7")
	what, read := s.event("MODIFIED", apiPod)
	if wantItem(t, read, slimWeb, "7"); what != "MODIFIED" {
		t.Errorf("it was %s", what)
	}
	list := s.answer(&corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "c"}, Items: []corev1.Pod{*apiPod},
	}).(*Page)
	if len(list.Items) != 1 || list.ResourceVersion != "9" || list.Continue != "c" {
		t.Fatalf("the list is %+v", list)
	}
	wantItem(t, list.Items[0], slimWeb, "7")
}

// TestLeasesAreOfTheKindOfTheirClient checks that node Leases and control-plane Leases, which are the same API
// resource, become different kinds of objects.
func TestLeasesAreOfTheKindOfTheirClient(t *testing.T) {
	lease := coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("b")},
	}
	list := coordinationv1.LeaseList{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}, Items: []coordinationv1.Lease{lease},
	}
	meta := event.Meta{Name: "a"}
	for kind, want := range map[event.Kind]event.Object{
		event.KindLease: &event.Lease{Meta: meta}, event.KindControlPlaneLease: &event.ControlPlaneLease{Meta: meta, Holder: "b"},
	} {
		s := newServer(t, runtime.ContentTypeProtobuf)
		s.negotiator = runtime.NewClientNegotiator(newCodecs(newScheme(), kind), coordination)
		wantItem(t, s.answer(&lease), want, "")
		wantItem(t, s.answer(&list).(*Page).Items[0], want, "")
	}
}

// TestStatus checks that errors are read, also if they are in JSON.
func TestStatus(t *testing.T) {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Reason: metav1.StatusReasonExpired, Code: 410}
	for _, mediaType := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
		if read, ok := newServer(t, mediaType).answer(status).(*metav1.Status); !ok || read.Reason != metav1.StatusReasonExpired {
			t.Errorf("%s: the answer is %#v", mediaType, read)
		}
	}
	what, read := newServer(t, runtime.ContentTypeProtobuf).event("ERROR", status)
	if failure, ok := read.(*metav1.Status); !ok || failure.Code != 410 || what != "ERROR" {
		t.Errorf("the event is %s %#v", what, read)
	}
}

func TestBookmarkThatEndsTheList(t *testing.T) {
	bookmark := &corev1.Pod{TypeMeta: apiV1, ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	what, read := newServer(t, runtime.ContentTypeProtobuf).event("BOOKMARK", bookmark)
	if i := read.(*Item); what != "BOOKMARK" || i.ResourceVersion != "8" || i.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("%s, read as %+v", what, read)
	}
}

func TestAnEmptyList(t *testing.T) {
	list := newServer(t, runtime.ContentTypeProtobuf).answer(&corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}).(*Page)
	if len(list.Items) != 0 || list.ResourceVersion != "" || list.Continue != "" {
		t.Errorf("read as %+v", list)
	}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	decoder, err := newServer(t, runtime.ContentTypeProtobuf).negotiator.Decoder(runtime.ContentTypeProtobuf, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, answer, want string }{
		{"what is watched, but cut off", "k8s\x00\x0a\x05\x12\x03Pod\x12\x03\x0a\x05a", "read pods: unexpected EOF"},
		{"cut off", "k8s\x00\x0a\x05\x12", "read a document: unexpected EOF"},
		{"what is not watched", "k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Secret", `no kind "Secret" is registered for version "v1" in scheme`},
		{"without a kind", "k8s\x00", "empty body"},
		{"a proxy's page", "<html>", "provided data does not appear to be a protobuf message"},
		{"JSON", `{"kind":"Pod","apiVersion":"v1"}`, "provided data does not appear to be a protobuf message"},
		{"nothing", "", "empty data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read, _, err := decoder.Decode([]byte(c.answer), nil, nil)
			if !errors.Is(err, errUnreadable) || !strings.HasPrefix(err.Error(), errUnreadable.Error()+": "+c.want) {
				t.Errorf("read %v, %v; want %s", read, err, c.want)
			}
		})
	}
}

// body is a response body that counts its reads.
type body struct {
	bytes.Buffer
	reads int
}

func (b *body) Read(p []byte) (int, error) {
	b.reads++
	return b.Buffer.Read(p)
}

func (b *body) Close() error { return nil }

func TestEventsThatHaveComeAreTakenAtOnce(t *testing.T) {
	s := newServer(t, runtime.ContentTypeProtobuf)
	_, _, framer, err := s.negotiator.StreamDecoder(s.info.MediaType, nil)
	if err != nil {
		t.Fatal(err)
	}
	const events = 100
	var come body
	writer := framer.NewFrameWriter(&come)
	for i := range events {
		if _, err := fmt.Fprintf(writer, "event %d", i); err != nil {
			t.Fatal(err)
		}
	}
	reader, space := framer.NewFrameReader(&come), make([]byte, bufferSize)
	for i := range events {
		n, err := reader.Read(space)
		if want := fmt.Sprintf("event %d", i); err != nil || string(space[:n]) != want {
			t.Fatalf("read %q, %v; want %q", space[:n], err, want)
		}
	}
	if _, err := reader.Read(space); err != io.EOF || come.reads > 2 {
		t.Errorf("%d reads, and then %v; want 2 at most, and the end", come.reads, err)
	}
}

func wantItem(t *testing.T, read runtime.Object, slim event.Object, version string) {
	t.Helper()
	i, ok := read.(*Item)
	if !ok {
		t.Fatalf("read as %T", read)
	}
	if !reflect.DeepEqual(i.Slim, slim) || i.Name != slim.Metadata().Name || i.Namespace != slim.Metadata().Namespace || i.ResourceVersion != version {
		t.Errorf("got %+v of %+v", i.Slim, i.ObjectMeta)
	}
}
