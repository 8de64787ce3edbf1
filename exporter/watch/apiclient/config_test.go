package apiclient

import (
	"os"
	"path/filepath"
	"testing"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://kube.test:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

func TestLoadConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, flag, environment string }{
		{"the file of the flag", file, "/does/not/exist"},
		{"the file of the environment", "", file},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.environment)
			config, err := LoadConfig(c.flag, "kubeflap/1.0")
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != "https://kube.test:6443" || config.UserAgent != "kubeflap/1.0" {
				t.Errorf("got %s as %s", config.Host, config.UserAgent)
			}
		})
	}
}

func TestLoadConfigThatIsNotThere(t *testing.T) {
	if config, err := LoadConfig("/does/not/exist", ""); err == nil {
		t.Errorf("got %v", config)
	}
}
