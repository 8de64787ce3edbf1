package apiclient

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kubeflap/kubeflap/exporter/decode"
	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// bufferSize is the maximum number of bytes per read. After each read, the client sends a packet that allows the
	// server to send more (golang.org/x/net/http2, transportResponseBody.Read). Fewer reads thus mean fewer packets.
	bufferSize = 64 << 10
	// maxFrame is the maximum size of an event. etcd stores objects of at most a few MiB.
	maxFrame = 16 << 20
)

// errLost means that a connection broke without a sign from the server.
var errLost = errors.New("the connection was lost")

// Stream is an open watch.
type Stream struct {
	resource *Resource
	body     io.ReadCloser
	in       *bufio.Reader
	decoder  decode.Reader
	frame    []byte
}

// WatchTimeout returns a timeout between 5 and 10 minutes, like the timeouts of client-go's reflector. It is random, so
// that watches do not end together.
func WatchTimeout() time.Duration { return 5*time.Minute + rand.N(5*time.Minute) }

// Watch opens a watch that starts at a resourceVersion. The server ends the watch at the timeout, which is in full
// seconds.
func (r *Resource) Watch(ctx context.Context, version string, timeout time.Duration) (*Stream, error) {
	body, err := r.client.open(ctx, r.path(""), url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version}, "timeoutSeconds": {strconv.Itoa(int(timeout.Seconds()))},
	}, protobuf)
	if err != nil {
		return nil, err
	}
	return newStream(r, body), nil
}

func newStream(resource *Resource, body io.ReadCloser) *Stream {
	return &Stream{resource: resource, body: body, in: bufio.NewReaderSize(body, bufferSize)}
}

// Close closes the watch.
func (s *Stream) Close() { _ = s.body.Close() } // nothing more is read

// Next returns the type and the object of the next event. The object of a bookmark is empty, except for its
// resourceVersion. Next returns io.EOF if the server has ended the watch.
func (s *Stream) Next() (event.Event, error) {
	frame, err := s.read()
	switch {
	case err == nil:
	case errors.Is(err, io.ErrUnexpectedEOF), utilnet.IsProbableEOF(err), utilnet.IsTimeout(err):
		return event.Event{}, io.EOF
	default:
		return event.Event{}, fmt.Errorf("%w: %w", errLost, err)
	}
	what, document, err := s.decoder.WatchEvent(frame)
	if err != nil {
		return event.Event{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	e := event.Event{}
	switch what {
	case "ADDED":
		e.Type = event.Added
	case "MODIFIED":
		e.Type = event.Modified
	case "DELETED":
		e.Type = event.Deleted
	case "BOOKMARK":
		e.Type = event.Bookmark
	default:
		return event.Event{}, failure(what, document)
	}
	e.Object, err = s.resource.decode(&s.decoder, document)
	return e, err
}

// read returns the next frame: its length, followed by a metav1.WatchEvent. The next call overwrites the frame.
func (s *Stream) read() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(s.in, length[:]); err != nil {
		return nil, err //nolint:wrapcheck // compared with io.EOF
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxFrame {
		return nil, fmt.Errorf("an event has %d bytes", n)
	}
	if n > uint32(len(s.frame)) {
		s.frame = make([]byte, n)
	}
	_, err := io.ReadFull(s.in, s.frame[:n])
	return s.frame[:n], err //nolint:wrapcheck // compared with io.EOF
}

// failure returns the error in an event of type ERROR.
func failure(what string, document []byte) error {
	status, ok := readStatus(document)
	if !ok {
		return fmt.Errorf("%w: an event of type %q", errUnreadable, what)
	}
	return &responseError{int(status.Code), true, status.Message}
}
