package watch

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
	// shown is how much of an unreadable answer goes into the log: enough to know a login page by.
	shown = 120
	// showWithin is how long the first bytes of such an answer are waited for.
	showWithin = time.Second
)

// unreadable is an answer that is not the API's, though its status says that all is well: that of a proxy that
// wants somebody to log in, of a captive portal, of another server behind the same address.
type unreadable struct {
	contentType string
	begin       []byte
	because     error
}

func (u *unreadable) Error() string {
	text := fmt.Sprintf(notTheAPIs+": content type %q, it begins with %q", u.contentType, u.begin[:min(len(u.begin), shown)])
	if u.because != nil {
		text += ": " + u.because.Error()
	}
	return text
}

// Unwrap gives what the reader said.
func (u *unreadable) Unwrap() error { return u.because }

// notTheAPIs begins the text of an unreadable answer.
const notTheAPIs = "the answer is not the API's"

// isUnreadable knows such an answer to a watch by its text: that is all that is left of it in the event
// that ends the watch (apimachinery, watch.StreamWatcher).
func isUnreadable(err error) bool {
	var u *unreadable
	return errors.As(err, &u) || apierrors.HasStatusCause(err, watchDecoding) && strings.Contains(err.Error(), notTheAPIs)
}

// answers turns what has another content type than was asked for into an error that shows it. client-go says of it only that
// there is no serializer, and of a watch leaves the body open (rest.Request, newStreamWatcher).
type answers struct{ http.RoundTripper }

// WrappedRoundTripper is the one inside, whose idle connections are closed at the end (apimachinery, net.CloseIdleConnectionsFor).
func (a answers) WrappedRoundTripper() http.RoundTripper { return a.RoundTripper }

// RoundTrip asks, and looks at the answer's head.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := a.RoundTripper.RoundTrip(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err //nolint:wrapcheck // nothing was added
	}
	if wanted(request, answer) {
		if strings.HasPrefix(answer.Header.Get("Content-Type"), runtime.ContentTypeJSON) {
			answer.Body = &looked{ReadCloser: answer.Body}
		}
		return answer, nil
	}
	late := time.AfterFunc(showWithin, func() { _ = answer.Body.Close() })
	defer late.Stop()
	defer answer.Body.Close()
	begin, _ := io.ReadAll(io.LimitReader(answer.Body, shown))
	return nil, &unreadable{contentType: answer.Header.Get("Content-Type"), begin: begin}
}

// wanted reports whether the content type is one of those that were asked for. Without one
// client-go takes it for what it asked for (rest.Request, transformResponse).
func wanted(request *http.Request, answer *http.Response) bool {
	accept, contentType := request.Header.Get("Accept"), answer.Header.Get("Content-Type")
	if accept == "" || contentType == "" || strings.Contains(accept, "*/*") {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.Contains(accept, media)
}

// looked is the body of an answer that says of itself that it is JSON. What is not, is found out at its first byte:
// the reader of a watch would only say that it met an invalid character.
type looked struct {
	io.ReadCloser
	begun bool
}

// Read reads, and fails if what comes first cannot be the API's: all its answers are objects.
func (l *looked) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if begin := bytes.TrimLeft(b[:n], " \t\r\n"); !l.begun && len(begin) > 0 {
		if l.begun = true; begin[0] != '{' {
			return 0, &unreadable{contentType: runtime.ContentTypeJSON, begin: bytes.Clone(begin[:min(len(begin), shown)])}
		}
	}
	return n, err //nolint:wrapcheck // io.EOF is compared
}

// pageOf is the page of a list that was answered, or an error that shows what was answered instead.
func pageOf(result rest.Result) (*page, error) {
	list, err := result.Get()
	if list, ok := list.(*page); ok && err == nil {
		return list, nil
	}
	return nil, shownOf(result, err, "a list")
}

// shownOf is the error of an answer that came and could not be read, or was not what was wanted.
func shownOf(result rest.Result, err error, want string) error {
	raw, failed := result.Raw()
	if failed != nil || codeOf(err) != 0 {
		return err
	}
	if err == nil {
		err = errors.New("want " + want)
	}
	var contentType string
	result.ContentType(&contentType)
	return &unreadable{contentType: contentType, begin: raw, because: err}
}
