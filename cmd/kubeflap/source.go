package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/query"
	"github.com/kubeflap/kubeflap/exporter/web/recordings"
)

// source holds the flags for a recording: a file, a --data.dir directory, or a running kubeflap's recordings.
type source struct {
	path     string
	remote   remote
	from, to timeOrAgo
}

func (s *source) addFlags(cmd *kingpin.CmdClause) {
	cmd.Flag("recording", "The recording, as written by kubeflap record, or a --data.dir directory.").PlaceHolder("PATH").StringVar(&s.path)
	s.remote.addURLFlags(cmd, "Read the recordings of the kubeflap instance at this URL, such as https://host:9969. The instance must run with --web.enable-recordings.")
	cmd.Flag("from", "Start of the period to read from a directory or a URL, such as 2026-03-01T12:00:00Z. A duration such as 2h counts back from the end of the recordings in the directory, or from now. The default is the first event.").PlaceHolder("TIME").SetValue(named{&s.from, "from"})
	cmd.Flag("to", "End of the period, in the same format as --from. The default is the last event.").PlaceHolder("TIME").SetValue(named{&s.to, "to"})
}

func (s *source) validate() error {
	switch {
	case s.path == "" && s.remote.url == "":
		return errors.New("select a recording with --recording or --url")
	case s.path != "" && s.remote.url != "":
		return errors.New("--recording and --url are mutually exclusive")
	case s.remote.url == "" && s.remote.config != "":
		return errors.New("--url.config needs --url")
	}
	return s.remote.validate()
}

// name returns a description of the recording.
func (s *source) name() string {
	if s.path != "" {
		return filepath.Base(s.path)
	}
	return redacted(s.remote.url)
}

// open opens the recording. The caller must call the returned function to close it.
func (s *source) open(ctx context.Context) (*recording.Reader, func(), error) {
	if s.path == "" {
		return s.openURL(ctx)
	}
	if info, err := os.Stat(s.path); err == nil && info.IsDir() {
		return s.openDirectory(ctx)
	}
	if s.from.given() || s.to.given() {
		return nil, nil, fmt.Errorf("--from and --to need --url or a --data.dir directory, and %s is not a directory", s.path)
	}
	reader, err := recording.Open(s.path)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the error contains the path
	}
	return reader, func() { _ = reader.Close() }, nil
}

func (s *source) openDirectory(ctx context.Context) (*recording.Reader, func(), error) {
	begin, end, err := flightrecorder.Span(s.path)
	if err != nil {
		return nil, nil, fmt.Errorf("directory %s: %w", s.path, err)
	}
	from, to := s.from.resolve(end, begin), s.to.resolve(end, end)
	if !s.to.given() && from.After(end) {
		return nil, nil, fmt.Errorf("--from: %s is after the end of the recordings, %s", inUTC(from), inUTC(end))
	}
	if to.Before(from) {
		return nil, nil, errors.New("--to is before --from")
	}
	reader, err := openDirectory(ctx, s.path, from, to)
	return reader, func() {}, err
}

// openURL requests a running kubeflap's recordings. It fails if no data arrives for recordingPatience. The whole
// download may take longer.
func (s *source) openURL(ctx context.Context) (*recording.Reader, func(), error) {
	now := time.Now()
	from, to := s.from.resolve(now, time.Unix(0, 0)), s.to.resolve(now, now)
	if !s.to.given() && from.After(now) {
		return nil, nil, inFuture(from, now)
	}
	if to.Before(from) {
		return nil, nil, errors.New("--to is before --from")
	}
	query := url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}}
	if s.to.given() {
		query.Set("to", to.UTC().Format(time.RFC3339Nano))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	body := &impatient{timer: time.AfterFunc(recordingPatience, func() { cancel(errNothingSent) })}
	stop := func() {
		body.timer.Stop()
		if body.ReadCloser != nil {
			_ = body.Close() // after reading, an error does not matter
		}
		cancel(nil)
	}
	response, err := s.remote.request(ctx, s.remote.address(recordings.Path)+"?"+query.Encode(), "application/gzip") //nolint:bodyclose // stop closes it
	if err != nil {
		stop()
		if refused := (*statusError)(nil); errors.As(err, &refused) && refused.code == http.StatusNotFound && refused.text == "" {
			err = fmt.Errorf("%w: the kubeflap instance must run with --web.enable-recordings", err)
		}
		return nil, nil, err
	}
	body.ReadCloser = response.Body
	reader, err := recording.NewReader(body, redacted(s.remote.url))
	if err != nil {
		stop()
		return nil, nil, err //nolint:wrapcheck // the error contains the URL
	}
	return reader, stop, nil
}

// recordingPatience is the maximum time to wait for the next part of a recording. The first part can take a long time,
// because the server must read earlier recordings first.
const recordingPatience = 2 * time.Minute

var errNothingSent = fmt.Errorf("the server sent nothing for %s", recordingPatience)

// impatient is a response body that restarts a timer each time data arrives.
type impatient struct {
	io.ReadCloser
	timer *time.Timer
}

// Read implements io.Reader.
func (r *impatient) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.timer.Reset(recordingPatience)
	return n, err //nolint:wrapcheck // recording.Reader adds the URL to the error
}

// timeOrAgo is a flag value for a point in time. The value 2h means two hours before now, or before the end of a
// recording.
type timeOrAgo struct {
	text string
	time time.Time
	ago  time.Duration
}

// Set implements kingpin.Value.
func (m *timeOrAgo) Set(s string) error {
	t, err := query.ParseTime(s)
	if err == nil {
		*m = timeOrAgo{text: s, time: t}
		return nil
	}
	var ago positiveDuration
	if ago.Set(s) != nil {
		return fmt.Errorf("%q is not a time such as 2026-03-01T12:00:00Z, or a duration such as 2h", s)
	}
	*m = timeOrAgo{text: s, ago: time.Duration(ago)}
	return nil
}

// String implements kingpin.Value.
func (m *timeOrAgo) String() string { return m.text }

func (m *timeOrAgo) given() bool { return m.text != "" }

// resolve returns the flag's time. A duration, such as 2h, is subtracted from `now`. If the flag is not set, resolve
// returns `otherwise`.
func (m *timeOrAgo) resolve(now, otherwise time.Time) time.Time {
	switch {
	case !m.given():
		return otherwise
	case m.time.IsZero():
		return now.Add(-m.ago)
	}
	return m.time
}
