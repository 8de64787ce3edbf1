package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"sigs.k8s.io/yaml"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/query"
	"github.com/kubeflap/kubeflap/exporter/web/recordings"
)

const enableRecordings = "web.enable-recordings"

// addDownloads adds the flag for downloads. The returned function creates the download handler, or returns nil if
// downloads are disabled.
func addDownloads(cmd *kingpin.CmdClause, dir *string, listen *toolkit.FlagConfig) func(*slog.Logger) (http.Handler, error) {
	enabled := cmd.Flag(enableRecordings, "Serve the recordings in --data.dir at /api/v1/recording. They show the whole cluster, so "+
		"--web.config.file must require a password or a client certificate.").Bool()
	return func(logger *slog.Logger) (http.Handler, error) {
		if !*enabled {
			return nil, nil
		}
		return newDownloadHandler(*dir, listen, logger)
	}
}

// newDownloadHandler returns the handler for recordings in a directory. It returns an error if the web server does not
// require authentication. The handler repeats this check for each request, because the web server can reload its
// configuration.
func newDownloadHandler(dir string, listen *toolkit.FlagConfig, logger *slog.Logger) (http.Handler, error) {
	if dir == "" {
		return nil, errors.New("--" + enableRecordings + " needs --data.dir")
	}
	authenticated := func() error { return checkAuthentication(*listen.WebConfigFile) }
	if err := authenticated(); err != nil {
		return nil, fmt.Errorf("--%s: %w", enableRecordings, err)
	}
	return recordings.Handler(dir, authenticated, logger), nil
}

// checkAuthentication returns an error unless the web configuration requires a password or a verified client
// certificate.
func checkAuthentication(path string) error {
	var config struct {
		Users map[string]string `json:"basic_auth_users"`
		TLS   struct {
			ClientAuth string `json:"client_auth_type"`
		} `json:"tls_server_config"`
	}
	if path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, &config)
		}
		if err != nil {
			return fmt.Errorf("cannot read the web configuration: %w", err)
		}
	}
	if len(config.Users) == 0 && config.TLS.ClientAuth != "RequireAndVerifyClientCert" {
		return errors.New("a recording shows the whole cluster, so it is only served to authenticated clients: " +
			"set basic_auth_users, or client_auth_type: RequireAndVerifyClientCert, in --web.config.file")
	}
	return nil
}

// period is the time range to replay from a --data.dir directory. A zero time means no limit.
type period struct{ from, to moment }

// moment is a flag value for a time.
type moment struct{ time.Time }

// Set implements kingpin.Value.
func (m *moment) Set(s string) (err error) {
	m.Time, err = query.ParseTime(s)
	return err //nolint:wrapcheck // the error quotes the value
}

// open opens a recording, or a directory of recordings.
func (p period) open(path string) (*recording.Reader, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if !p.from.IsZero() || !p.to.IsZero() {
			return nil, fmt.Errorf("--from and --to need a --data.dir directory, and %s is not a directory", path)
		}
		return recording.Open(path) //nolint:wrapcheck // the error contains the path
	}
	until := p.to.Time
	if until.IsZero() {
		if until = time.Now(); p.from.After(until) {
			return nil, inFuture(p.from.Time, until)
		}
	}
	if until.Before(p.from.Time) {
		return nil, errors.New("--to is before --from")
	}
	return openDirectory(context.Background(), path, p.from.Time, until)
}

// openDirectory opens a --data.dir directory as a single recording. The recording contains the events between `from`
// and `to`.
func openDirectory(ctx context.Context, dir string, from, to time.Time) (*recording.Reader, error) {
	events, anonymised, err := flightrecorder.Read(ctx, dir, from, to)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	out, in := io.Pipe()
	go func() {
		// The pipe passes an error of recordings.Write to the reader.
		_ = in.CloseWithError(recordings.Write(in, events, recording.Header{Recorded: from, Anonymised: anonymised}))
	}()
	return recording.NewReader(out, dir) //nolint:wrapcheck // the error contains the path
}
