package web

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	// RecordingPath is the URL path of the recordings.
	RecordingPath = "/api/v1/recording"
	// patience is the maximum time that a client may take to accept each part of the data. A whole recording may take
	// longer.
	patience = time.Minute
)

// requested is the requested period.
type requested struct {
	from, to  time.Time
	anonymise bool
}

// RecordingHandler serves the recordings in a directory. It calls refused() for each request. If refused() returns an error, the
// response has status 403 and contains the error's text. refused() must return an error if clients are not
// authenticated, because a recording shows the whole cluster.
func RecordingHandler(dir string, refused func() error, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := refused(); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		period, err := parseRequested(r.URL.RawQuery, time.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		events, err := flightrecorder.Read(dir, period.from, period.to)
		switch {
		case r.Context().Err() != nil:
			return // the client is gone
		case errors.Is(err, flightrecorder.ErrNothing):
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		case err != nil:
			logger.Error("cannot read the recordings", "err", err)
			http.Error(w, "The recordings cannot be read. See kubeflap's log.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/gzip")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "kubeflap-"+period.from.UTC().Format("20060102T150405Z")+".jsonl.gz"))
		if r.Method == http.MethodHead {
			return
		}
		out := deadlineWriter{w, http.NewResponseController(w)}
		_ = out.control.SetWriteDeadline(time.Time{}) // this only fails without a connection
		header := CompleteHeader(recording.Header{Recorded: period.from, Anonymised: period.anonymise}, events)
		if err := stream(out, events, header); err != nil {
			logger.Warn("a recording was not sent completely", "err", err)
			panic(http.ErrAbortHandler) // the client must notice the failure
		}
	})
}

// headerEvents is the maximum number of events that are read to complete a recording's header. A recording begins with
// the starts of the lists and the API server's version.
const headerEvents = 64

// CompleteHeader adds the version of the API server to the header of a recording. If the recording begins later than the
// requested period, CompleteHeader also corrects the header's start time. It iterates over the first events.
func CompleteHeader(header recording.Header, events iter.Seq2[event.Event, error]) recording.Header {
	n := 0
	for ev, err := range events {
		if err != nil || n == headerEvents {
			break
		}
		if n == 0 && ev.Seen.After(header.Recorded) {
			header.Recorded = ev.Seen
		}
		if cluster, ok := ev.Object.(*event.Cluster); ok {
			header.Kubernetes = cluster.Version
			break
		}
		n++
	}
	return header
}

func stream(out io.Writer, events iter.Seq2[event.Event, error], header recording.Header) error {
	w, err := recording.NewWriter(out, header, true)
	if err == nil {
		err = w.WriteAll(events)
	}
	if err != nil {
		return err //nolint:wrapcheck // without the end of the recording, the client notices that it is incomplete
	}
	return w.Close() //nolint:wrapcheck // the error says what failed
}

// deadlineWriter sets a new write deadline for each part of the response, so that the server's write timeout does not
// truncate a large recording.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (p deadlineWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(patience))
	n, err := p.ResponseWriter.Write(b)
	// The time until the next write is unlimited.
	_ = p.control.SetWriteDeadline(time.Time{})
	return n, err //nolint:wrapcheck // the recording adds its name to the error
}

// parseRequested parses the query of a URL. Its errors name the parameter.
func parseRequested(raw string, now time.Time) (p requested, err error) {
	_, err = api.Parameters{"from": &p.from, "to": &p.to, "anonymise": &p.anonymise}.Parse(raw)
	switch {
	case err != nil:
		return p, err
	case p.from.IsZero():
		return p, errors.New("parameter from is missing: use a time such as 2026-03-01T12:00:00Z or 1772366400")
	case p.to.IsZero() && p.from.After(now):
		return p, fmt.Errorf(`parameter "from" is in the future: it is now %s`, now.UTC().Format(time.RFC3339))
	case p.to.IsZero():
		p.to = now
	case p.to.Before(p.from):
		return p, errors.New(`parameter "to" is before "from"`)
	}
	return p, nil
}
