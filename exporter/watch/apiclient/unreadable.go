package apiclient

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	// An error shows at most maxShown bytes of an unreadable response. These bytes suffice to recognize a login page.
	maxShown = 120
	// maxShowWait is the maximum time to read the start of an unreadable response.
	maxShowWait = time.Second
)

// errUnreadable is the error for a response that does not contain what was requested. The response may come from a
// captive portal, from a proxy that requires a login or sends JSON instead of protobuf, or from another server at the
// same address.
var errUnreadable = errors.New("the response is unreadable")

// contentTypes is a transport that returns an error for a response with an unexpected content type. The error shows the
// start of the response. Without this transport, client-go would only report that it has no serializer. It would also
// leave the body of a watch open (rest.Request, newStreamWatcher).
type contentTypes struct{ http.RoundTripper }

// WrappedRoundTripper returns the inner transport, so that its idle connections can be closed (apimachinery,
// net.CloseIdleConnectionsFor).
func (c contentTypes) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// RoundTrip sends the request and checks the content type of the response. http.Client adds the URL, and thus the
// server and the resource, to the error.
func (c contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(request)
	want := request.Header.Get("Accept")
	if err != nil || accepts(want, answer) {
		return answer, err //nolint:wrapcheck // this wrapper adds nothing
	}
	timeout := time.AfterFunc(maxShowWait, func() { _ = answer.Body.Close() })
	defer timeout.Stop()
	defer answer.Body.Close()
	begin, _ := io.ReadAll(io.LimitReader(answer.Body, maxShown))
	return nil, fmt.Errorf("%w: %s with content type %q instead of %q, beginning with %q: connect kubeflap directly to the API server, "+
		"or make the proxy forward the Accept header and the response unchanged", errUnreadable, answer.Status, answer.Header.Get("Content-Type"), want, begin)
}

// accepts reports whether a response has the wanted content type, or is an error that client-go can read. Errors may be
// in JSON. Status 406 means that the server cannot send the wanted content type.
func accepts(want string, answer *http.Response) bool {
	if answer.StatusCode != http.StatusOK || want == "*/*" {
		return answer.StatusCode != http.StatusNotAcceptable
	}
	got, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return err == nil && got == want
}
