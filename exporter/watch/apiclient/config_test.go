package apiclient

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://kube.test:6443"}}, {name: d, cluster: {server: "https://other.test:6443"}}]
users: [{name: u, user: {token: t}}, {name: v, user: {token: w}}]
contexts: [{name: near, context: {cluster: c, user: u}}, {name: far, context: {cluster: d, user: v, namespace: shop}}]
`

const inNear, inNone = "current-context: near\n", "current-context: gone\n"

// write writes a kubeconfig.
func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoadConfig(t *testing.T) {
	file, contextless := write(t, kubeconfig+inNear), write(t, kubeconfig)
	for _, c := range []struct {
		name, environment                 string
		choice                            Choice
		host, token, context, inNamespace string
	}{
		{"the file of the flag", "/does/not/exist", Choice{Kubeconfig: file}, "https://kube.test:6443", "t", "near", "default"},
		{"the file of the environment", file, Choice{}, "https://kube.test:6443", "t", "near", "default"},
		{"one file of the environment is missing", "/does/not/exist:" + file, Choice{}, "https://kube.test:6443", "t", "near", "default"},
		{"another context", file, Choice{Context: "far"}, "https://other.test:6443", "w", "far", "shop"},
		{"another cluster", file, Choice{Cluster: "d"}, "https://other.test:6443", "t", "near", "default"},
		{"another user", file, Choice{User: "v"}, "https://kube.test:6443", "w", "near", "default"},
		{"all of them", file, Choice{Context: "far", Cluster: "c", User: "u"}, "https://kube.test:6443", "t", "far", "shop"},
		{"no context", contextless, Choice{Cluster: "d", User: "u"}, "https://other.test:6443", "t", "none", "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.environment)
			config, err := LoadConfig(c.choice, "kubeflap/1.0")
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != c.host || config.BearerToken != c.token || config.UserAgent != "kubeflap/1.0" {
				t.Errorf("got %s with the token %s as %s", config.Host, config.BearerToken, config.UserAgent)
			}
			if config.Context != c.context || config.Namespace != c.inNamespace {
				t.Errorf("got the context %s, namespace %s", config.Context, config.Namespace)
			}
		})
	}
}

func TestLoadConfigSaysWhatIsMissing(t *testing.T) {
	file, contextless, dangling, empty := write(t, kubeconfig+inNear), write(t, kubeconfig), write(t, kubeconfig+inNone), write(t, "")
	tokenless := strings.ReplaceAll(kubeconfig, "token: t", "tokenFile: /no-such-token") // the file does not exist
	for _, c := range []struct {
		name, environment string
		choice            Choice
		says              string
		noCluster         bool
	}{
		{"no file", "/does/not/exist:" + empty, Choice{}, "tried /does/not/exist (does not exist), " + empty + " (has no context) and the service account", true},
		{"no file, but a context", "/does/not/exist", Choice{Context: "near"}, "--context=near: no cluster is configured: tried /does/not/exist (does not exist)", true},
		{"the file of the flag", file, Choice{Kubeconfig: "/does/not/exist"}, "--kubeconfig=/does/not/exist does not exist", true},
		{"no current context", contextless, Choice{}, contextless + " has no current context; choose one with --context: far, near", false},
		{"the current context", dangling, Choice{}, `context was not found for specified context: gone`, false},
		{"the context", file, Choice{Context: "z"}, "--context=z: the kubeconfig " + file + " has only far, near", false},
		{"not the context", write(t, tokenless), Choice{Context: "near"}, "no-such-token", false},
		{"not the context, although the current one is missing", write(t, tokenless+inNone), Choice{Context: "near"}, "no-such-token", false},
		{"the cluster", file, Choice{Cluster: "z"}, "--cluster=z: the kubeconfig " + file + " has only c, d", false},
		{"the user", file, Choice{User: "z"}, "--user=z: the kubeconfig " + file + " has only u, v", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.environment)
			config, err := LoadConfig(c.choice, "")
			if err == nil {
				t.Fatalf("got %v", config)
			}
			if !strings.Contains(err.Error(), c.says) || errors.Is(err, ErrNoCluster) != c.noCluster {
				t.Errorf("want %q (no cluster: %v), got: %v", c.says, c.noCluster, err)
			}
		})
	}
}

func TestLoadConfigLooksForTheCredentialPlugin(t *testing.T) {
	const missing = `the kubeconfig's user needs the credential plugin no-such-plugin: exec: "no-such-plugin": executable file not found in $PATH`
	for name, c := range map[string]struct{ user, plugin, says string }{
		"installed":                {"", "command: go", ""},
		"not installed":            {"", "command: no-such-plugin", missing},
		"not needed, with a token": {"token: t, ", "command: no-such-plugin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			user := c.user + "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, " + c.plugin + "}"
			text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: eks, clusters: [{name: c, cluster: {server: "https://kube.test"}}],
				contexts: [{name: eks, context: {cluster: c, user: u}}], users: [{name: u, user: {%s}}]}`, user)
			_, err := LoadConfig(Choice{Kubeconfig: write(t, text)}, "")
			if c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
