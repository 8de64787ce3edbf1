package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web"
)

const (
	defaultAddress = ":9969"
	// localAddress is the default of the commands for a user's own machine. A recording shows a whole cluster, and they
	// require no password.
	localAddress = "localhost:9969"
	// drainTimeout is the maximum time that running requests may take to finish after SIGTERM.
	drainTimeout = 5 * time.Second

	// The following values limit each connection. The server accepts only GET and HEAD, so requests are small. The
	// largest responses are metrics of about ten megabytes.
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// checkWeb validates --web.config.file and the files that it refers to, before kubeflap listens or connects.
func checkWeb(flags *toolkit.FlagConfig) error {
	if err := toolkit.Validate(*flags.WebConfigFile); err != nil {
		// YAML errors have several lines.
		return fmt.Errorf("--web.config.file=%s: %s", *flags.WebConfigFile, strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

// registerProcess registers the process metrics. In a replay of several clusters, these metrics exist once per cluster,
// with the label "cluster". Rules and dashboards can then join them with the metrics of the cluster.
func registerProcess(to prometheus.Registerer, cluster string) {
	if cluster != "" {
		to = prometheus.WrapRegistererWith(prometheus.Labels{metrics.ClusterLabel: cluster}, to)
	}
	to.MustRegister(version.NewCollector("kubeflap"), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// serve serves the pages until ctx is canceled. It calls `listening`, if any, for each address that it has bound.
func serve(ctx context.Context, p program, flags *toolkit.FlagConfig, pages web.Pages, listening func(net.Addr)) error {
	handler, err := web.Handler(pages, p.logger)
	if err != nil {
		return err
	}
	err = runServer(ctx, handler, p.logger, func(server *http.Server) error {
		server.BaseContext = func(listener net.Listener) context.Context {
			if listening != nil {
				listening(listener.Addr())
			}
			return context.Background()
		}
		return toolkit.ListenAndServe(server, flags, p.logger)
	})
	return cannotListen("web.listen-address", *flags.WebListenAddresses, err)
}

// cannotListen adds the flag that sets the addresses to an error.
func cannotListen(flag string, addresses []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s=%s: %w", flag, strings.Join(addresses, ", "), err)
}

// serveProbes serves the kubelet's probes, without TLS or a password, until ctx is canceled. If the address is empty,
// it returns immediately.
func serveProbes(ctx context.Context, p program, address string, unready func() []watches.Watch) error {
	if address == "" {
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err == nil {
		p.logger.Info("listening for probes", "address", listener.Addr())
		err = runServer(ctx, web.Probes(unready), p.logger, func(server *http.Server) error { return server.Serve(listener) })
	}
	return cannotListen("web.probe-address", []string{address}, err)
}

// runServer runs a server until ctx is canceled. It then lets running requests finish, and closes the remaining
// connections.
func runServer(ctx context.Context, handler http.Handler, logger *slog.Logger, listen func(*http.Server) error) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		limit, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		if err := server.Shutdown(limit); err != nil {
			logger.Warn("closing connections that are still open", "after", drainTimeout)
			_ = server.Close() // the process is about to exit
		}
	})
	err := listen(server)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-closed
	return nil
}

const enableRecordings = "web.enable-recordings"

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
	return web.RecordingHandler(dir, authenticated, logger), nil
}

// checkAuthentication returns an error unless the web configuration requires a password or a verified client
// certificate.
func checkAuthentication(path string) error {
	var config toolkit.Config
	if path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, &config)
		}
		if err != nil {
			return fmt.Errorf("cannot read the web configuration: %w", err)
		}
	}
	if len(config.Users) == 0 && config.TLSConfig.ClientAuth != "RequireAndVerifyClientCert" {
		return errors.New("a recording shows the whole cluster, so it is only served to authenticated clients: " +
			"set basic_auth_users, or client_auth_type: RequireAndVerifyClientCert, in --web.config.file")
	}
	return nil
}
