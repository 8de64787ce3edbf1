// Package rawwatch records what the API server sends to a client that lists and watches: the bytes of lists and of
// watch events, with their times. A test can serve these bytes again, to test how kubeflap watches and decodes.
package rawwatch

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/lab/steps"
)

// Part says what a record holds.
type Part string

// The parts of a recording.
const (
	// PartServer is the response to /version.
	PartServer Part = "server"
	// PartList is the response to a list request.
	PartList Part = "list"
	// PartInitial is an event of a streamed list. The last one is the bookmark that ends the list.
	PartInitial Part = "initial"
	// PartEvent is a later watch event.
	PartEvent Part = "event"
	// PartBreak ends all watches. It has no resource and no bytes.
	PartBreak Part = "break"
)

// Record is the JSON line before the bytes of a record.
type Record struct {
	Seen time.Time `json:"seen"`
	Part Part      `json:"part"`
	// Resource is the path of the resource in the API.
	Resource string `json:"resource,omitempty"`
	// Type and Version are the type of a watch event and the resourceVersion of its object. Version is also the
	// resourceVersion of a list.
	Type    string `json:"type,omitempty"`
	Version string `json:"version,omitempty"`
	// Size is the number of bytes after the line. A newline follows them.
	Size int `json:"size"`
}

// resources returns the paths of the resources that kubeflap watches.
func resources() []string {
	return []string{
		"/api/v1/nodes", "/api/v1/pods", "/api/v1/services", "/api/v1/endpoints",
		"/apis/discovery.k8s.io/v1/endpointslices",
		"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
		"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
		"/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets",
	}
}

// mediaType is protobuf, which the API server offers for all of these resources.
const mediaType = "application/vnd.kubernetes.protobuf"

// maxFrame is the largest accepted watch event, in bytes.
const maxFrame = 64 << 20

// Recorder lists and watches all resources, and writes what it receives.
type Recorder struct {
	client rest.Interface

	mu   sync.Mutex
	file *os.File
	out  *gzip.Writer
	err  error
	// stop ends the open watches, and running waits for them.
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns a recorder that writes to a file, compressed with gzip.
func New(client rest.Interface, path string) *Recorder {
	file := steps.Value(os.Create(path))
	return &Recorder{client: client, file: file, out: gzip.NewWriter(file)}
}

// Begin lists all resources, and starts to watch them. It returns after the streamed lists.
func (r *Recorder) Begin(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	r.write(Record{Part: PartServer, Resource: "/version"}, readAll(r.get(ctx, "/version", nil)))
	for _, resource := range resources() {
		r.begin(ctx, resource)
	}
}

// Break ends all watches.
func (r *Recorder) Break() {
	r.stop()
	r.running.Wait()
	r.write(Record{Part: PartBreak}, nil)
}

// End ends all watches and closes the file. It returns the errors of the recording.
func (r *Recorder) End() error {
	r.stop()
	r.running.Wait()
	return errors.Join(r.err, r.out.Close(), r.file.Close())
}

func (r *Recorder) begin(ctx context.Context, resource string) {
	list := readAll(r.get(ctx, resource, nil))
	version := listVersion(list)
	r.write(Record{Part: PartList, Resource: resource, Version: version}, list)
	stream := r.get(ctx, resource, url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "sendInitialEvents": {"true"},
		"resourceVersionMatch": {"NotOlderThan"}, "resourceVersion": {version},
	})
	for end := false; !end; {
		end = r.next(stream, resource, PartInitial)
	}
	r.running.Go(func() {
		defer stream.Close()
		err := steps.Run(func() {
			for {
				r.next(stream, resource, PartEvent)
			}
		})
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("watch %s: %w", resource, err))
		}
	})
}

// next reads and writes one watch event. It reports whether the event ends a streamed list.
func (r *Recorder) next(stream io.Reader, resource string, part Part) (end bool) {
	frame := readFrame(stream)
	kind, version, end := inspect(frame)
	r.write(Record{Part: part, Resource: resource, Type: kind, Version: version}, frame)
	return end
}

// readFrame reads a watch event. Its length comes first, in four bytes (apimachinery, framer).
func readFrame(stream io.Reader) []byte {
	var length [4]byte
	steps.Value(io.ReadFull(stream, length[:]))
	n := binary.BigEndian.Uint32(length[:])
	if n > maxFrame {
		steps.Must(fmt.Errorf("a frame of %d bytes is too long", n))
	}
	frame := make([]byte, n)
	steps.Value(io.ReadFull(stream, frame))
	return frame
}

func (r *Recorder) get(ctx context.Context, path string, query url.Values) io.ReadCloser {
	request := r.client.Get().AbsPath(path)
	if path != "/version" {
		request.SetHeader("Accept", mediaType)
	}
	for name := range query {
		request.Param(name, query.Get(name))
	}
	return steps.Value(request.Stream(ctx))
}

func readAll(body io.ReadCloser) []byte {
	defer body.Close()
	return steps.Value(io.ReadAll(body))
}

// write writes a record with the current time.
func (r *Recorder) write(x Record, body []byte) {
	x.Seen, x.Size = time.Now(), len(body)
	line, err := json.Marshal(x)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.out.Write(append(append(append(line, '\n'), body...), '\n'))
	}
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("write a record: %w", err)
	}
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// inspect returns the type of a watch event and the resourceVersion of its object. The result end is true for the
// bookmark that ends a streamed list.
func inspect(frame []byte) (kind, version string, end bool) {
	event := &metav1.WatchEvent{}
	steps.Must(event.Unmarshal(frame))
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
	steps.Must(err)
	if status, ok := object.(*metav1.Status); ok {
		steps.Must(fmt.Errorf("the API server sent an error: %s", status.Message))
	}
	accessor := steps.Value(meta.Accessor(object))
	end = accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	return event.Type, accessor.GetResourceVersion(), end
}

// listVersion returns the resourceVersion of a list.
func listVersion(text []byte) string {
	list, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	steps.Must(err)
	return steps.Value(meta.ListAccessor(list)).GetResourceVersion()
}
