package apiclient

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// ErrNoCluster means that neither a kubeconfig nor a service account names an API server.
var ErrNoCluster = errors.New("no cluster is configured")

// Choice selects an API server and a user. Its fields correspond to kubectl's flags. Empty fields are taken from the
// kubeconfig.
type Choice struct {
	// Kubeconfig is the path of the kubeconfig file.
	Kubeconfig string
	// Context, Cluster and User are names in the kubeconfig.
	Context, Cluster, User string
}

// Config describes a connection to an API server.
type Config struct {
	*rest.Config
	// Context is the name of the kubeconfig context. If no context is used, Context is "none" or "service account of
	// the pod".
	Context string
	// Namespace comes from the context or from the service account.
	Namespace string
}

// LoadConfig finds the API server as kubectl does. If choice.Kubeconfig is set, LoadConfig uses that file. Otherwise,
// it tries the files in $KUBECONFIG or ~/.kube/config, and then the pod's service account. Its errors mention these
// files and their contexts.
func LoadConfig(choice Choice, userAgent string) (Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = choice.Kubeconfig
	deferred := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: choice.Context, Context: api.Context{Cluster: choice.Cluster, AuthInfo: choice.User},
	})
	// RawConfig returns an error if a file cannot be read.
	kubeconfig, err := deferred.RawConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("%w: --kubeconfig=%s does not exist", ErrNoCluster, choice.Kubeconfig)
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	files := strings.Join(rules.GetLoadingPrecedence(), ", ")
	tried := fmt.Errorf("%w: tried %s", ErrNoCluster, described(rules.GetLoadingPrecedence()))
	if err := choice.missing(&kubeconfig, files, tried); err != nil {
		return Config{}, err
	}
	config, err := deferred.ClientConfig()
	switch {
	case err == nil:
	case len(kubeconfig.Contexts) == 0:
		return Config{}, fmt.Errorf("%w and the service account of a pod", tried)
	case choice.Context == "" && kubeconfig.CurrentContext == "":
		return Config{}, fmt.Errorf("the kubeconfig %s has no current context; choose one with --context: %s", files, names(kubeconfig.Contexts))
	default:
		return Config{}, fmt.Errorf("use the kubeconfig %s: %w", files, err)
	}
	if err := checkPlugin(config); err != nil {
		return Config{}, err
	}
	namespace, _, err := deferred.Namespace()
	if err != nil {
		return Config{}, fmt.Errorf("read the namespace of the context: %w", err)
	}
	config.UserAgent = userAgent
	config.Dial = batched(config.Dial)
	context := cmp.Or(choice.Context, kubeconfig.CurrentContext, "service account of the pod")
	if choice.Context == "" && kubeconfig.CurrentContext == "" && choice.Cluster != "" {
		context = "none"
	}
	return Config{Config: config, Context: context, Namespace: namespace}, nil
}

// missing returns an error if the kubeconfig does not contain the chosen context, cluster or user. Unlike clientcmd's
// error, this error lists the available names. Without a kubeconfig, clientcmd may even ignore the choice and use the
// service account: the error is then tried.
func (c Choice) missing(kubeconfig *api.Config, files string, tried error) error {
	for _, x := range []struct {
		flag, name string
		known      bool
		all        string
	}{
		{"context", c.Context, kubeconfig.Contexts[c.Context] != nil, names(kubeconfig.Contexts)},
		{"cluster", c.Cluster, kubeconfig.Clusters[c.Cluster] != nil, names(kubeconfig.Clusters)},
		{"user", c.User, kubeconfig.AuthInfos[c.User] != nil, names(kubeconfig.AuthInfos)},
	} {
		switch {
		case x.name == "" || x.known:
		case x.all == "":
			return fmt.Errorf("--%s=%s: %w", x.flag, x.name, tried)
		default:
			return fmt.Errorf("--%s=%s: the kubeconfig %s has only %s", x.flag, x.name, files, x.all)
		}
	}
	return nil
}

// described returns the names of kubeconfig files that contain no context, and what is wrong with each.
func described(files []string) string {
	var all []string
	for _, file := range files {
		what := "has no context"
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			what = "does not exist"
		}
		all = append(all, file+" ("+what+")")
	}
	return strings.Join(all, ", ")
}

func names[T any](all map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
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
	if _, err := exec.LookPath(plugin.Command); err != nil {
		return fmt.Errorf("the kubeconfig's user needs the credential plugin %s: %w", plugin.Command, err)
	}
	return nil
}
