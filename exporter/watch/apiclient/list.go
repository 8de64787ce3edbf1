package apiclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// CurrentVersion returns the current resourceVersion of the resource's list. The request limits the list to one object,
// and contains no resourceVersion. With version "0", the watch cache would ignore the limit.
func (r *Resource) CurrentVersion(ctx context.Context) (string, error) {
	page, err := r.page(ctx, url.Values{"limit": {"1"}}, &decode.Reader{}, func(event.Object) {})
	return page.Version, err
}

// List requests all objects from etcd, and passes them to the given function, page by page. It returns the list's
// resourceVersion. The requests contain no resourceVersion, like those of kubectl. The server then returns the current
// state. If the pages fail because a continue token has expired (410), which happens after about 5 minutes, use atOnce.
func (r *Resource) List(ctx context.Context, atOnce bool, each func(event.Object)) (version string, err error) {
	query := url.Values{}
	if !atOnce {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	var reader decode.Reader
	for {
		page, err := r.page(ctx, query, &reader, each)
		if err != nil {
			return "", err
		}
		if page.Continue == "" {
			return page.Version, nil
		}
		query.Set("continue", page.Continue)
	}
}

// page requests a page of a list, and passes its objects to the given function.
func (r *Resource) page(ctx context.Context, query url.Values, reader *decode.Reader, each func(event.Object)) (page decode.List, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	answer, err := r.client.open(ctx, r.path(""), query, protobuf)
	if err != nil {
		return page, err
	}
	defer answer.Close()
	page, err = reader.List(bufio.NewReaderSize(answer, bufferSize), r.object+"List", func(message []byte) error {
		object, err := reader.Object(r.Kind, message)
		if err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
		if r.Has(object) {
			each(object)
		}
		return nil
	})
	switch {
	case errors.Is(err, decode.ErrMalformed):
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	case err != nil && !errors.Is(err, errUnreadable):
		err = fmt.Errorf("read the response: %w", err)
	}
	return page, err
}

// Get returns one object. It returns nil if the API server reports that the object does not exist. The request has
// no resourceVersion, so it is a quorum read from etcd (apiserver, CacheDelegator.Get).
func (r *Resource) Get(ctx context.Context, name string) (event.Object, error) {
	answer, err := r.client.open(ctx, r.path(name), nil, protobuf)
	if refused := errorIn(err); refused.fromAPI && refused.code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	document, err := io.ReadAll(answer)
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return r.decode(&decode.Reader{}, document)
}

// decode decodes an object. The object shares no memory with the document.
func (r *Resource) decode(reader *decode.Reader, document []byte) (object event.Object, err error) {
	kind, message, err := reader.Document(document)
	if err == nil && kind != r.object {
		err = fmt.Errorf("got the kind %q instead of %s", kind, r.object)
	}
	if err == nil {
		object, err = reader.Object(r.Kind, message)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return object, nil
}
