// Package rawwatch records what the API server sends to a client that lists and watches: the bytes of lists and of
// watch events, with their times. A test can serve these bytes again, to test how kubeflap watches and decodes.
package rawwatch

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
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
	}
}

// mediaType is protobuf, which the API server offers for all of these resources.
const mediaType = "application/vnd.kubernetes.protobuf"

// maxFrame is the largest accepted watch event, in bytes.
const maxFrame = 64 << 20

// Recorder lists and watches all resources, and writes what it receives.
type Recorder struct {
	client *http.Client
	host   string

	mu  sync.Mutex
	out io.Writer
	err error
	// stop ends the open watches, and running waits for them.
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New returns a recorder that writes to out.
func New(config *rest.Config, out io.Writer) (*Recorder, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return &Recorder{client: client, host: config.Host, out: out}, nil
}

// Begin lists all resources, and starts to watch them. It returns after the streamed lists.
func (r *Recorder) Begin(ctx context.Context) error {
	ctx, r.stop = context.WithCancel(ctx)
	body, err := r.get(ctx, "/version", nil)
	if err != nil {
		return err
	}
	text, err := readAll(body)
	if err != nil {
		return err
	}
	r.write(Record{Seen: time.Now(), Part: PartServer, Resource: "/version"}, text)
	for _, resource := range resources() {
		if err := r.begin(ctx, resource); err != nil {
			return fmt.Errorf("record %s: %w", resource, err)
		}
	}
	return nil
}

// Break ends all watches.
func (r *Recorder) Break() {
	r.stop()
	r.running.Wait()
	r.write(Record{Seen: time.Now(), Part: PartBreak}, nil)
}

// End ends all watches, and returns the first error of the recording.
func (r *Recorder) End() error {
	r.stop()
	r.running.Wait()
	return r.err
}

func (r *Recorder) begin(ctx context.Context, resource string) error {
	body, err := r.get(ctx, resource, nil)
	if err != nil {
		return err
	}
	list, err := readAll(body)
	if err != nil {
		return err
	}
	version, err := listVersion(list)
	if err != nil {
		return err
	}
	r.write(Record{Seen: time.Now(), Part: PartList, Resource: resource, Version: version}, list)
	stream, err := r.get(ctx, resource, url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "sendInitialEvents": {"true"},
		"resourceVersionMatch": {"NotOlderThan"}, "resourceVersion": {version},
	})
	if err != nil {
		return err
	}
	for {
		end, err := r.next(stream, resource, PartInitial)
		if err != nil {
			return errors.Join(err, stream.Close())
		}
		if end {
			break
		}
	}
	r.running.Go(func() { r.follow(ctx, stream, resource) })
	return nil
}

func (r *Recorder) follow(ctx context.Context, stream io.ReadCloser, resource string) {
	defer stream.Close()
	for {
		if _, err := r.next(stream, resource, PartEvent); err != nil {
			if ctx.Err() == nil {
				r.fail(fmt.Errorf("watch %s: %w", resource, err))
			}
			return
		}
	}
}

// next reads and writes one watch event. It reports whether the event ends a streamed list.
func (r *Recorder) next(stream io.Reader, resource string, part Part) (end bool, err error) {
	frame, err := readFrame(stream)
	if err != nil {
		return false, err
	}
	kind, version, end, err := inspect(frame)
	if err != nil {
		return false, err
	}
	r.write(Record{Seen: time.Now(), Part: part, Resource: resource, Type: kind, Version: version}, frame)
	return end, nil
}

// readFrame reads a watch event. Its length comes first, in four bytes (apimachinery, framer).
func readFrame(stream io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(stream, length[:]); err != nil {
		return nil, fmt.Errorf("read a frame's length: %w", err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes is too long", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(stream, frame); err != nil {
		return nil, fmt.Errorf("read a frame: %w", err)
	}
	return frame, nil
}

func (r *Recorder) get(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	address := strings.TrimSuffix(r.host, "/") + path
	if query != nil {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", path, err)
	}
	if path != "/version" {
		request.Header.Set("Accept", mediaType)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("get %s: %s", path, response.Status), response.Body.Close())
	}
	return response.Body, nil
}

func readAll(body io.ReadCloser) ([]byte, error) {
	text, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("read a response: %w", err)
	}
	return text, nil
}

func (r *Recorder) write(x Record, body []byte) {
	x.Size = len(body)
	line, err := json.Marshal(x)
	if err != nil {
		r.fail(fmt.Errorf("write a record: %w", err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.out.Write(append(append(append(line, '\n'), body...), '\n')); err != nil && r.err == nil {
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
