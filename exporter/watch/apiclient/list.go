package apiclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/decode"
	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// pageSize is the page size of kubectl and of client-go's pager.
	pageSize = 500
	// pageTimeout is the maximum duration of a request for a page. Servers end such requests after one minute
	// (apiserver, --request-timeout).
	pageTimeout = 90 * time.Second
)

// List requests all objects from etcd, and passes them to the given function, page by page. It returns the list's
// resourceVersion.
func (r *Resource) List(ctx context.Context, each func(event.Object)) (version string, err error) {
	return r.list(ctx, url.Values{"limit": {strconv.Itoa(pageSize)}}, each)
}

// ListAtOnce is like List, but requests all objects in one page. Use it if List fails because a continue token has
// expired (410), which happens after about 5 minutes.
func (r *Resource) ListAtOnce(ctx context.Context, each func(event.Object)) (version string, err error) {
	return r.list(ctx, url.Values{}, each)
}

// CurrentVersion returns the current resourceVersion of the resource's list. The request limits the list to one object,
// and contains no resourceVersion. With version "0", the watch cache would ignore the limit.
func (r *Resource) CurrentVersion(ctx context.Context) (string, error) {
	page, err := r.page(ctx, url.Values{"limit": {"1"}}, &decode.Reader{}, &bytes.Buffer{})
	return page.Version, err
}

// list requests pages without a resourceVersion, like kubectl. The server then returns the current state.
func (r *Resource) list(ctx context.Context, query url.Values, each func(event.Object)) (version string, err error) {
	var reader decode.Reader
	var body bytes.Buffer
	for {
		page, err := r.page(ctx, query, &reader, &body)
		if err != nil {
			return "", err
		}
		for _, item := range page.Items {
			object, err := reader.Object(r.Kind, item)
			if err != nil {
				return "", fmt.Errorf("%w: %w", errUnreadable, err)
			}
			if r.Has(object) {
				each(object)
			}
		}
		if page.Continue == "" {
			return page.Version, nil
		}
		query.Set("continue", page.Continue)
	}
}

// page requests a page of a list. The page shares memory with the body.
func (r *Resource) page(ctx context.Context, query url.Values, reader *decode.Reader, body *bytes.Buffer) (page decode.List, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	if err := r.read(ctx, "", query, body); err != nil {
		return decode.List{}, err
	}
	message, err := message(reader, body.Bytes(), r.object+"List")
	if err == nil {
		page, err = reader.List(message)
	}
	if err != nil {
		return decode.List{}, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return page, nil
}

// Get returns one object. It returns nil if the API server reports that the object does not exist. The request has
// no resourceVersion, so it is a quorum read from etcd (apiserver, CacheDelegator.Get).
func (r *Resource) Get(ctx context.Context, name string) (event.Object, error) {
	var body bytes.Buffer
	err := r.read(ctx, name, nil, &body)
	var answer *ResponseError
	if errors.As(err, &answer) && answer.FromAPI && Reason(err) == event.ReasonAbsent {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.decode(&decode.Reader{}, body.Bytes())
}

// read requests a list or an object. It replaces the content of body.
func (r *Resource) read(ctx context.Context, name string, query url.Values, body *bytes.Buffer) error {
	answer, err := r.client.open(ctx, r.path(name), query, protobuf)
	if err != nil {
		return err
	}
	defer answer.Close()
	body.Reset()
	if _, err := io.Copy(body, answer); err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	return nil
}

// decode decodes an object. The object shares no memory with the document.
func (r *Resource) decode(reader *decode.Reader, document []byte) (object event.Object, err error) {
	message, err := message(reader, document, r.object)
	if err == nil {
		object, err = reader.Object(r.Kind, message)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return object, nil
}

// message returns the message in a document of the given kind.
func message(reader *decode.Reader, data []byte, kind string) ([]byte, error) {
	document, err := reader.Document(data)
	if err != nil {
		return nil, err
	}
	if document.Kind != kind {
		return nil, fmt.Errorf("got the kind %q instead of %s", document.Kind, kind)
	}
	return document.Object, nil
}
