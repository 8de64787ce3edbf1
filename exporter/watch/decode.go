package watch

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

// codecs are client-go's, but what is watched is read straight into slim objects: building
// the API's own types and throwing them away would be most of kubeflap's cost.
type codecs struct {
	runtime.NegotiatedSerializer
}

// SupportedMediaTypes are client-go's. Only the events of a watch that come as protobuf are opened in another way.
func (c codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	var all []runtime.SerializerInfo
	for _, info := range c.NegotiatedSerializer.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeProtobuf {
			stream := *info.StreamSerializer
			stream.Serializer = watchEvents{Serializer: stream.Serializer, reader: &decode.Reader{}}
			stream.Framer = chunked{stream.Framer}
			info.StreamSerializer = &stream
		}
		all = append(all, info)
	}
	return all
}

// DecoderToVersion makes the decoder of one answer, or of one watch.
func (c codecs) DecoderToVersion(typed runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return &decoder{typed: c.NegotiatedSerializer.DecoderToVersion(typed, version), reader: &decode.Reader{}}
}

// chunked takes what has come of a watch at once, not event by event: whenever some is taken, the server is told that it may send
// as much more, and that is a packet of its own (golang.org/x/net/http2, transportResponseBody.Read).
type chunked struct {
	runtime.Framer
}

// chunk is how much is taken at most.
const chunk = 64 << 10

// NewFrameReader reads the events of a watch.
func (c chunked) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return c.Framer.NewFrameReader(struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(body, chunk), body})
}

// watchEvents opens the events of a watch without copying what is in them: that is read before
// the next event comes into the same place (rest/watch, Decoder.Decode).
type watchEvents struct {
	runtime.Serializer
	reader *decode.Reader
}

// Decode opens an event.
func (w watchEvents) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	opened, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("read an event of a watch: it is wanted as %T", into)
	}
	var err error
	opened.Type, opened.Object.Raw, err = w.reader.WatchEvent(data)
	return opened, nil, err
}

// decoder reads one answer, or the events of one watch.
type decoder struct {
	typed  runtime.Decoder
	reader *decode.Reader
}

// Decode reads an object or a list of what is watched, and leaves the rest to client-go.
func (d *decoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	document, err := d.reader.Document(data)
	if err != nil {
		return nil, nil, err
	}
	object, err := d.read(document)
	if object == nil && err == nil {
		return d.typed.Decode(data, defaults, into)
	}
	return object, nil, err
}

// read is nil of anything that is not watched.
func (d *decoder) read(document decode.Document) (runtime.Object, error) {
	kind, watched := kinds[document.Kind]
	switch {
	case !watched:
		return nil, nil
	case kind.list:
		return d.readList(kind.kind, document.Object)
	default:
		return d.readItem(kind.kind, document.Object)
	}
}

func (d *decoder) readItem(kind event.Kind, message []byte) (runtime.Object, error) {
	o, err := d.reader.Object(kind, message)
	if err != nil {
		return nil, err
	}
	meta := o.Slim.Metadata()
	i := &item{slim: o.Slim, ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, ResourceVersion: o.Version}}
	if o.InitialEventsEnd {
		i.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return i, nil
}

func (d *decoder) readList(kind event.Kind, message []byte) (runtime.Object, error) {
	list, err := d.reader.List(message)
	if err != nil {
		return nil, err
	}
	page := &page{ListMeta: metav1.ListMeta{ResourceVersion: list.Version, Continue: list.Continue}}
	page.Items = make([]runtime.Object, 0, len(list.Items))
	for _, message := range list.Items {
		i, err := d.readItem(kind, message)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, i)
	}
	return page, nil
}

// kinds are what is watched, by the API's names.
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

// item is a slim object, with as much of the API's metadata as a reflector looks at.
type item struct {
	metav1.ObjectMeta
	slim event.Object
}

// GetObjectKind returns nothing of use; nobody asks.
func (*item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the item itself: nothing changes it.
func (i *item) DeepCopyObject() runtime.Object { return i }

// page is a page of a list, as the pager wants it.
type page struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject returns the page itself: nothing changes it.
func (p *page) DeepCopyObject() runtime.Object { return p }
