package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/decode"
)

const (
	// An error shows at most maxShown bytes of an unreadable response. These bytes suffice to recognize a login page.
	maxShown = 120
	// maxErrorWait is the maximum time to read the body of a failed request.
	maxErrorWait = time.Second
)

// errUnreadable is the error for a response that does not contain what was requested. The response may come from a
// captive portal, from a proxy that requires a login or sends JSON instead of protobuf, or from another server at the
// same address.
var errUnreadable = errors.New("the response is unreadable")

// errorOf returns the error of a response, or nil if its status is 200 and it has the wanted content type. Errors may be in
// JSON. Status 406 means that the server cannot send the wanted content type. A redirect leads to another server, such as a
// login page.
func errorOf(answer *http.Response, want string) error {
	contentType := answer.Header.Get("Content-Type")
	got, _, _ := mime.ParseMediaType(contentType) // empty after an error
	ok, redirected := answer.StatusCode == http.StatusOK, answer.StatusCode/100 == 3
	switch {
	case ok && (want == anyFormat || got == want):
		return nil
	case ok, redirected, answer.StatusCode == http.StatusNotAcceptable:
		address := *answer.Request.URL
		address.RawQuery = ""
		return fmt.Errorf("%w: %s answers %s with content type %q instead of %q, beginning with %q: connect kubeflap directly to the API server, "+
			"or make the proxy forward the Accept header and the response unchanged",
			errUnreadable, address.String(), answer.Status, contentType, want, readSome(answer.Body, maxShown))
	}
	body := readSome(answer.Body, maxText)
	if status, ok := readStatus(body); ok {
		return &responseError{answer.StatusCode, true, status.Message}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	return &responseError{answer.StatusCode, false, fmt.Sprintf("%s: %.200s", answer.Status, line)}
}

func readSome(body io.ReadCloser, limit int64) []byte {
	timeout := time.AfterFunc(maxErrorWait, func() { _ = body.Close() })
	defer timeout.Stop()
	text, _ := io.ReadAll(io.LimitReader(body, limit)) // part of the text is better than none
	return text
}

// responseError is an error that the API server, or another server at its address, sent.
type responseError struct {
	// code is the HTTP status.
	code int
	// fromAPI is set if the API server sent the error.
	fromAPI bool
	message string
}

// Error returns the API server's message. For another server, it returns the status and the first line of the response.
func (e *responseError) Error() string { return e.message }

// errorIn returns the response that caused an error. It is empty if there was no response.
func errorIn(err error) responseError {
	if answer := (*responseError)(nil); errors.As(err, &answer) {
		return *answer
	}
	return responseError{}
}

// readStatus reads a metav1.Status, in protobuf or in JSON. It reports whether the body is one.
func readStatus(body []byte) (status metav1.Status, ok bool) {
	switch kind, object, err := (&decode.Reader{}).Document(body); {
	case err != nil:
		return status, false
	case kind == "Status":
		return status, status.Unmarshal(object) == nil
	}
	return status, json.Unmarshal(body, &status) == nil && status.Kind == "Status"
}
