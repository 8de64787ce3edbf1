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
	// An error shows at most maxShown bytes of an unreadable response. These bytes suffice to recognize a login page.
	maxShown = 120
	// maxShowWait is the maximum time to read the start of an unreadable response.
	maxShowWait = time.Second
)

// unreadableError is returned for a response with status 200 that is not from the API. The response may come from a
// captive portal, from a proxy that requires a login, or from another server at the same address.
type unreadableError struct {
	contentType string
	begin       []byte
	cause       error
}

// notTheAPIs is the prefix of an unreadableError's text.
const notTheAPIs = "the response is not from the Kubernetes API"

// Error includes the first bytes of the response.
func (u *unreadableError) Error() string {
	text := fmt.Sprintf(notTheAPIs+": content type %q, beginning with %q", u.contentType, u.begin[:min(len(u.begin), maxShown)])
	if u.cause != nil {
		text += ": " + u.cause.Error()
	}
	return text
}

// Unwrap returns the decoder's error.
func (u *unreadableError) Unwrap() error { return u.cause }

// isUnreadable reports whether err is an unreadableError. A failed watch ends with an event that contains only the text
// of the error (apimachinery, watch.StreamWatcher). isUnreadable therefore also looks for notTheAPIs in the text.
func isUnreadable(err error) bool {
	var u *unreadableError
	return errors.As(err, &u) || apierrors.HasStatusCause(err, watchDecoding) && strings.Contains(err.Error(), notTheAPIs)
}

// contentTypes is a transport that returns an error for a response with an unexpected content type. The error shows the
// start of the response. Without this transport, client-go would only report that it has no serializer. It would also
// leave the body of a watch open (rest.Request, newStreamWatcher).
type contentTypes struct{ http.RoundTripper }

// WrappedRoundTripper returns the inner transport, so that its idle connections can be closed (apimachinery,
// net.CloseIdleConnectionsFor).
func (c contentTypes) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// RoundTrip sends the request and checks the content type of the response.
func (c contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err //nolint:wrapcheck // this wrapper adds nothing
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

// accepted reports whether the request accepts the content type of the response. If the response has no content type,
// client-go assumes the requested content type (rest.Request, transformResponse).
func accepted(request *http.Request, answer *http.Response) bool {
	accept, contentType := request.Header.Get("Accept"), answer.Header.Get("Content-Type")
	if accept == "" || contentType == "" || strings.Contains(accept, "*/*") {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.Contains(accept, media)
}

// jsonBody is the body of a response with a JSON content type. Read checks that it really contains JSON. Without this
// check, a watch would only report an invalid character.
type jsonBody struct {
	io.ReadCloser
	checked bool
}

// Read fails if the body does not start with an object, because every response of the API is an object.
func (j *jsonBody) Read(b []byte) (int, error) {
	n, err := j.ReadCloser.Read(b)
	if begin := bytes.TrimLeft(b[:n], " \t\r\n"); !j.checked && len(begin) > 0 {
		if j.checked = true; begin[0] != '{' {
			return 0, &unreadableError{contentType: runtime.ContentTypeJSON, begin: bytes.Clone(begin[:min(len(begin), maxShown)])}
		}
	}
	return n, err //nolint:wrapcheck // callers compare the error with io.EOF
}

// unreadableResult returns an error for a response that cannot be decoded or has the wrong type.
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
