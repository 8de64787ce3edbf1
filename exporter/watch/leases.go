package watch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// answerWithin is how long a direct read may take.
	answerWithin = 3 * time.Second
	// maxChecks bounds what is read of /readyz?verbose: one line for each check, which are some dozens.
	maxChecks = 64 << 10
)

// ReadLeases reads some nodes' Leases directly, without a resourceVersion: that is a quorum read of etcd (apiserver,
// CacheDelegator.Get), while a watch is served from the API server's memory. At the same time it asks for /readyz?verbose, which often says why
// they cannot be read. The sink gets one Asking, a Read for each Lease, and at the end one Answered or Unanswered;
// if the context ends, nothing more. It returns within 3 s.
func (w *Watcher) ReadLeases(ctx context.Context, names []string) {
	if len(names) == 0 || ctx.Err() != nil {
		return
	}
	w.tell(event.Asking, nil, "")
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	ready := make(chan readiness, 1)
	go func() { ready <- w.askReady(asking) }()
	answered, failed := w.readAll(ctx, asking, names)
	if failed == nil {
		cancel() // it does not matter any more what /readyz says
	}
	said := <-ready // not before: nothing is left running
	switch {
	case ctx.Err() != nil:
	case failed == nil:
		w.tell(event.Answered, nil, "")
	case said.notReady != "":
		w.tell(event.Answered, nil, event.NotReady(said.notReady))
	case answered || said.answered:
		w.tell(event.Answered, nil, causeOf(failed))
	default:
		w.tell(event.Unanswered, nil, causeOf(failed))
	}
}

func (w *Watcher) tell(what event.Type, lease event.Object, reason event.Reason) {
	w.sink(event.Event{Seen: time.Now(), Kind: event.KindLease, Type: what, Object: lease, Reason: reason})
}

// readAll reads the Leases all at once and hands each on as it comes. It reports whether anything was answered at all, and
// the first failure.
func (w *Watcher) readAll(ctx, asking context.Context, names []string) (answered bool, failed error) {
	type answer struct {
		lease event.Object
		err   error
	}
	answers := make(chan answer, len(names))
	for _, name := range names {
		go func() {
			lease, err := w.readLease(asking, name)
			answers <- answer{lease, err}
		}()
	}
	for range names {
		a := <-answers
		if a.lease != nil && ctx.Err() == nil {
			w.tell(event.Read, a.lease, "")
		}
		answered = answered || a.err == nil || codeOf(a.err) != 0 || isUnreadable(a.err)
		if failed == nil {
			failed = a.err
		}
	}
	return answered, failed
}

// readLease is nil if the API server says that there is no such Lease. A 404 that is not its own says nothing (rest.Request,
// newUnstructuredResponseError).
func (w *Watcher) readLease(ctx context.Context, name string) (event.Object, error) {
	result := w.leases.Get().Namespace(nodeLeases).Resource(event.KindLease.String()).Name(name).MaxRetries(0).Do(ctx)
	got, err := result.Get()
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, nil
	}
	if i, ok := got.(*item); ok && err == nil && i.slim.Kind() == event.KindLease {
		return i.slim, nil
	}
	return nil, shownOf(result, err, "a Lease")
}

// readiness is what /readyz says.
type readiness struct {
	answered bool
	// notReady is the first check that failed; empty if none did or nothing says so.
	notReady string
}

// failedCheck is a line of a check that failed (apiserver, server/healthz, handleRootHealth). Those with other signs in their names are
// hooks that run once after the start.
var failedCheck = regexp.MustCompile(`(?m)^\[-\]([a-z-]+) `)

// askReady asks by hand: client-go cuts the text of an error at 2,048 bytes (rest.Request, maxUnstructuredResponseTextBytes).
func (w *Watcher) askReady(ctx context.Context) readiness {
	at := w.version.client.Get().AbsPath("/readyz").Param("verbose", "").URL()
	body, err := w.getText(ctx, at.String())
	if err != nil {
		return readiness{}
	}
	if found := failedCheck.FindSubmatch(body); found != nil {
		return readiness{answered: true, notReady: string(found[1])}
	}
	return readiness{answered: true}
}

// getText gets what is answered, whatever its status.
func (w *Watcher) getText(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", url, err)
	}
	request.Header.Set("Accept", "*/*")
	answer, err := w.clients.http.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the address
	}
	defer answer.Body.Close()
	// What came before an end that should not be is good enough.
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxChecks))
	return body, nil
}
