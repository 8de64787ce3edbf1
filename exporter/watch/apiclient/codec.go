package apiclient

import (
	"bufio"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeflap/kubeflap/exporter/decode"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// codecs wraps client-go's codecs. It decodes watched objects directly into the small types of exporter/event. Decoding
// into the types of k8s.io/api first would take most of kubeflap's CPU time.
type codecs struct {
	runtime.NegotiatedSerializer
	// lease is the kind of all decoded Leases, either event.KindLease or event.KindControlPlaneLease.
	lease event.Kind
}

// SupportedMediaTypes returns client-go's media types. For protobuf, it replaces the stream serializer and the framer.
func (c codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	var all []runtime.SerializerInfo
	for _, info := range c.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeProtobuf {
			stream := *info.StreamSerializer
			stream.Serializer = watchEvents{Serializer: stream.Serializer, reader: &decode.Reader{}}
			stream.Framer = bufferedFramer{stream.Framer}
			info.StreamSerializer = &stream
		}
		all = append(all, info)
	}
	return all
}

// DecoderToVersion returns a decoder for one response or one watch.
func (c codecs) DecoderToVersion(typed runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return &decoder{typed: c.NegotiatedSerializer.DecoderToVersion(typed, version), reader: &decode.Reader{}, lease: c.lease}
}

// bufferedFramer reads all available bytes of a watch in one call. After each read, the client sends a packet that
// allows the server to send more (golang.org/x/net/http2, transportResponseBody.Read). Fewer reads thus mean fewer
// packets.
type bufferedFramer struct {
	runtime.Framer
}

// bufferSize is the maximum number of bytes per read.
const bufferSize = 64 << 10

// NewFrameReader returns a buffered reader for watch events.
func (b bufferedFramer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return b.Framer.NewFrameReader(struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(body, bufferSize), body})
}

// watchEvents decodes watch events without copying the object's bytes. These bytes are decoded before the next event
// overwrites the buffer (rest/watch, Decoder.Decode).
type watchEvents struct {
	runtime.Serializer
	reader *decode.Reader
}

// Decode decodes a watch event into a metav1.WatchEvent.
func (w watchEvents) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	e, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("cannot decode a watch event into %T", into)
	}
	var err error
	e.Type, e.Object.Raw, err = w.reader.WatchEvent(data)
	return e, nil, err
}

// decoder decodes one response or the objects of one watch.
type decoder struct {
	typed  runtime.Decoder
	reader *decode.Reader
	lease  event.Kind
}

// Decode decodes watched objects and lists of them. It passes all other responses to client-go, such as a Status, which
// may be in JSON.
func (d *decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, name, err := d.decode(data, defaults, into)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return object, name, nil
}

func (d *decoder) decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (object runtime.Object, name *schema.GroupVersionKind, err error) {
	document, err := d.reader.Document(data)
	if err != nil {
		return nil, nil, err
	}
	kind, watched := kinds[document.Kind]
	if kind.kind == event.KindLease {
		kind.kind = d.lease
	}
	switch {
	case !watched:
		return d.typed.Decode(data, defaults, into)
	case kind.list:
		object, err = d.list(kind.kind, document.Object)
	default:
		object, err = d.item(kind.kind, document.Object)
	}
	return object, nil, err
}

func (d *decoder) item(kind event.Kind, message []byte) (*Item, error) {
	o, err := d.reader.Object(kind, message)
	if err != nil {
		return nil, err
	}
	meta := o.Slim.Metadata()
	i := &Item{Slim: o.Slim, ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, ResourceVersion: meta.ResourceVersion}}
	if o.InitialEventsEnd {
		i.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return i, nil
}

func (d *decoder) list(kind event.Kind, message []byte) (*Page, error) {
	list, err := d.reader.List(message)
	if err != nil {
		return nil, err
	}
	page := &Page{ListMeta: metav1.ListMeta{ResourceVersion: list.Version, Continue: list.Continue}}
	page.Items = make([]runtime.Object, 0, len(list.Items))
	for _, message := range list.Items {
		i, err := d.item(kind, message)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, i)
	}
	return page, nil
}

// kinds maps the API names of the watched kinds, and of their lists, to values of event.Kind.
var kinds = map[string]struct {
	kind event.Kind
	list bool
}{
	"Node": {kind: event.KindNode}, "NodeList": {event.KindNode, true},
	"Lease": {kind: event.KindLease}, "LeaseList": {event.KindLease, true},
	"Pod": {kind: event.KindPod}, "PodList": {event.KindPod, true},
	"Service": {kind: event.KindService}, "ServiceList": {event.KindService, true},
	"EndpointSlice": {kind: event.KindEndpointSlice}, "EndpointSliceList": {event.KindEndpointSlice, true},
	"Endpoints": {kind: event.KindEndpoints}, "EndpointsList": {event.KindEndpoints, true},
}

// Item is a decoded object with the metadata that a reflector needs.
type Item struct {
	metav1.ObjectMeta
	Slim event.Object
}

// GetObjectKind returns an empty kind, because nothing reads the kind.
func (*Item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the item itself, because nothing modifies items.
func (i *Item) DeepCopyObject() runtime.Object { return i }

// EndsInitialList reports whether the item belongs to the bookmark that ends a streamed list.
func (i *Item) EndsInitialList() bool {
	return i.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

// Page is one page of a list, for client-go's pager.
type Page struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject returns the page itself, because nothing copies pages.
func (p *Page) DeepCopyObject() runtime.Object { return p }
