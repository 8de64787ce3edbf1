package decode

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// pageOfPods returns a page of a list, as an API server sends it.
func pageOfPods(t *testing.T, names ...string) []byte {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "42", Continue: "next"}}
	for _, name := range names {
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}})
	}
	var out bytes.Buffer
	if err := k8sprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readPods reads a page. It returns the names of the pods before any error.
func readPods(document []byte, kind string) (list List, names string, err error) {
	r := &Reader{}
	list, err = r.List(bufio.NewReaderSize(bytes.NewReader(document), 16), kind, func(object []byte) error {
		o, err := r.Object(event.KindPod, object)
		if err == nil {
			names += o.Metadata().Name + " "
		}
		return err
	})
	return list, names, err
}

func TestAListIsReadObjectByObject(t *testing.T) {
	long := strings.Repeat("n", 1000)
	page := pageOfPods(t, "a", long, "b")
	if list, names, err := readPods(page, "PodList"); err != nil || list != (List{"42", "next"}) || names != "a "+long+" b " {
		t.Errorf("%+v, %.20q, %v", list, names, err)
	}
	if list, names, err := readPods(pageOfPods(t), "PodList"); err != nil || list.Version != "42" || names != "" {
		t.Errorf("an empty page: %+v, %q, %v", list, names, err)
	}
	for n := range page {
		_, names, err := readPods(page[:n], "PodList")
		if err == nil && n < len(page)-4 { // two empty fields follow the list
			t.Fatalf("%d of %d bytes give %.20q", n, len(page), names)
		}
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v", n, len(page), err)
		}
	}
}

func TestWhatIsNoList(t *testing.T) {
	page := pageOfPods(t, "a")
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		document []byte
		kind     string
		want     error
	}{
		"another kind":      {page, "NodeList", ErrMalformed},
		"JSON":              {[]byte(`{"kind":"PodList"}`), "PodList", ErrMalformed},
		"nothing":           {nil, "PodList", ErrMalformed},
		"only the prefix":   {protobufPrefix, "PodList", ErrMalformed},
		"a huge field":      {append(append([]byte{}, protobufPrefix...), 0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f), "PodList", ErrMalformed},
		"an odd wire type":  {append(append([]byte{}, protobufPrefix...), 0x0d, 1, 2, 3, 4), "PodList", ErrMalformed},
		"an endless number": {append(append([]byte{}, protobufPrefix...), bytes.Repeat([]byte{0xff}, 20)...), "PodList", ErrMalformed},
	} {
		if _, _, err := readPods(c.document, c.kind); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	_, err := (&Reader{}).List(bufio.NewReader(bytes.NewReader(page)), "PodList", func([]byte) error { return fmt.Errorf("object: %w", failed) })
	if !errors.Is(err, failed) {
		t.Errorf("an object that cannot be read: %v", err)
	}
}
