package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"sigs.k8s.io/yaml"

	"github.com/kubeflap/kubeflap/exporter/web"
)

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
