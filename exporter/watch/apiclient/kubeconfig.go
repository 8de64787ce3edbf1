package apiclient

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// ErrNoCluster means that neither a kubeconfig nor a service account names an API server.
var ErrNoCluster = errors.New("no cluster is configured")

// missing returns an error if the kubeconfig does not contain the chosen context, cluster or user. Unlike clientcmd's
// error, this error lists the available names. Without a kubeconfig, clientcmd may even ignore the choice and use the
// service account.
func (c Choice) missing(kubeconfig *api.Config, rules *clientcmd.ClientConfigLoadingRules) error {
	for _, x := range []struct {
		flag, name string
		all        []string
	}{
		{"context", c.Context, sorted(kubeconfig.Contexts)},
		{"cluster", c.Cluster, sorted(kubeconfig.Clusters)},
		{"user", c.User, sorted(kubeconfig.AuthInfos)},
	} {
		switch {
		case x.name == "" || slices.Contains(x.all, x.name):
		case len(x.all) == 0:
			return fmt.Errorf("--%s=%s: %w: tried %s", x.flag, x.name, ErrNoCluster, files(rules, "has no "+x.name))
		default:
			return fmt.Errorf("--%s=%s: the kubeconfig %s has only %s", x.flag, x.name, files(rules, ""), strings.Join(x.all, ", "))
		}
	}
	return nil
}

// unusable returns an error that explains why the kubeconfig cannot be used, and how to proceed.
func (c Choice) unusable(err error, kubeconfig *api.Config, rules *clientcmd.ClientConfigLoadingRules) error {
	contexts := sorted(kubeconfig.Contexts)
	choices := "choose one with --context: " + strings.Join(contexts, ", ")
	switch current := cmp.Or(c.Context, kubeconfig.CurrentContext); {
	case len(contexts) == 0:
		return fmt.Errorf("%w: tried %s and the service account of a pod", ErrNoCluster, files(rules, "has no context"))
	case current == "":
		return fmt.Errorf("the kubeconfig %s has no current context; %s", files(rules, ""), choices)
	case !slices.Contains(contexts, current):
		return fmt.Errorf("the kubeconfig %s does not contain its current context %s; %s", files(rules, ""), current, choices)
	}
	return fmt.Errorf("use the kubeconfig %s: %w", files(rules, ""), err)
}

// checkPlugin returns an error if the kubeconfig's user needs a credential plugin that is not installed. client-go would
// only report this for each request, as if the API server were unreachable. The plugin is not needed if the user has
// other credentials (client-go, plugin/pkg/client/auth/exec, Authenticator.UpdateTransportConfig).
func checkPlugin(config *rest.Config) error {
	plugin, tls := config.ExecProvider, &config.TLSClientConfig
	hasCertificate := (len(tls.CertData) > 0 || tls.CertFile != "") && (len(tls.KeyData) > 0 || tls.KeyFile != "")
	if plugin == nil || config.BearerToken != "" || config.BearerTokenFile != "" || config.Username != "" || hasCertificate {
		return nil
	}
	_, err := exec.LookPath(plugin.Command)
	if err == nil {
		return nil
	}
	hint := ""
	if plugin.InstallHint != "" {
		hint = "; " + phrase.Line(strings.Join(strings.Fields(plugin.InstallHint), " "))
	}
	return fmt.Errorf("the kubeconfig's user needs the credential plugin %s: %w%s", plugin.Command, err, hint)
}

// files returns the paths of the kubeconfig files as text. If fault is not empty, each existing file is followed by
// fault in parentheses.
func files(rules *clientcmd.ClientConfigLoadingRules, fault string) string {
	paths := rules.Precedence
	if rules.ExplicitPath != "" {
		paths = []string{rules.ExplicitPath}
	}
	var all []string
	for _, path := range paths {
		switch _, err := os.Stat(path); {
		case path == "": // KUBECONFIG may end with a colon
		case errors.Is(err, os.ErrNotExist):
			all = append(all, path+" (does not exist)")
		case fault != "":
			all = append(all, path+" ("+fault+")")
		default:
			all = append(all, path)
		}
	}
	return strings.Join(all, ", ")
}

func sorted[T any](all map[string]T) []string { return slices.Sorted(maps.Keys(all)) }
