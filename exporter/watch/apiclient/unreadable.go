package apiclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

const (
	// maxShown is how many bytes of an unreadable answer go into the log, enough to recognise a login page.
	maxShown = 120
	// maxShowWait limits the wait for these bytes.
	maxShowWait = time.Second
)

// unreadableError is the error for an answer that has status 200 and is not from the API: that of a proxy which wants
// somebody to log in, of a captive portal, or of another server at the same address.
type unreadableError struct {
	contentType string
	begin       []byte
	cause       error
}

// notTheAPIs begins the text of an unreadableError.
const notTheAPIs = "the answer is not the API's"

// Error shows the first bytes of the answer.
func (u *unreadableError) Error() string {
	text := fmt.Sprintf(notTheAPIs+": content type %q, it begins with %q", u.contentType, u.begin[:min(len(u.begin), maxShown)])
	if u.cause != nil {
		text += ": " + u.cause.Error()
	}
	return text
}

// Unwrap returns the error of the reader.
func (u *unreadableError) Unwrap() error { return u.cause }

// isUnreadable recognises such an answer to a watch by its text. Nothing else of it is left in the event that ends the watch
// (apimachinery, watch.StreamWatcher).
func isUnreadable(err error) bool {
	var u *unreadableError
	return errors.As(err, &u) || apierrors.HasStatusCause(err, watchDecoding) && strings.Contains(err.Error(), notTheAPIs)
}

// contentTypes is a transport that turns an answer of an unexpected content type into an error which shows the answer.
// client-go only says that it has no serializer, and it does not close the body of a watch (rest.Request, newStreamWatcher).
type contentTypes struct{ http.RoundTripper }

// WrappedRoundTripper returns the inner transport, whose idle connections are closed at the end (apimachinery,
// net.CloseIdleConnectionsFor).
func (c contentTypes) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// RoundTrip sends the request and checks the header of the answer.
func (c contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err //nolint:wrapcheck // nothing was added
	}
	if accepted(request, answer) {
		if strings.HasPrefix(answer.Header.Get("Content-Type"), runtime.ContentTypeJSON) {
			answer.Body = &jsonBody{ReadCloser: answer.Body}
		}
		return answer, nil
	}
	timeout := time.AfterFunc(maxShowWait, func() { _ = answer.Body.Close() })
	defer timeout.Stop()
	defer answer.Body.Close()
	begin, _ := io.ReadAll(io.LimitReader(answer.Body, maxShown))
	return nil, &unreadableError{contentType: answer.Header.Get("Content-Type"), begin: begin}
}

// accepted reports whether the request asked for this content type. If the answer has none, client-go assumes the requested
// one (rest.Request, transformResponse).
func accepted(request *http.Request, answer *http.Response) bool {
	accept, contentType := request.Header.Get("Accept"), answer.Header.Get("Content-Type")
	if accept == "" || contentType == "" || strings.Contains(accept, "*/*") {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.Contains(accept, media)
}

// jsonBody is the body of an answer that claims to be JSON. Its first byte shows whether the claim is wrong. Without this
// check, the reader of a watch would only report an invalid character.
type jsonBody struct {
	io.ReadCloser
	checked bool
}

// Read fails if the body does not begin with an object: every answer of the API is an object.
func (j *jsonBody) Read(b []byte) (int, error) {
	n, err := j.ReadCloser.Read(b)
	if begin := bytes.TrimLeft(b[:n], " \t\r\n"); !j.checked && len(begin) > 0 {
		if j.checked = true; begin[0] != '{' {
			return 0, &unreadableError{contentType: runtime.ContentTypeJSON, begin: bytes.Clone(begin[:min(len(begin), maxShown)])}
		}
	}
	return n, err //nolint:wrapcheck // io.EOF is compared
}

// unreadableResult returns the error for an answer that could not be read, or was not what was requested.
func unreadableResult(result rest.Result, err error, want string) error {
	raw, failed := result.Raw()
	if failed != nil || statusCode(err) != 0 {
		return err
	}
	if err == nil {
		err = errors.New("want " + want)
	}
	var contentType string
	result.ContentType(&contentType)
	return &unreadableError{contentType: contentType, begin: raw, cause: err}
}
