package apiclient

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

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
	if err := choice.missing(&kubeconfig, rules); err != nil {
		return Config{}, err
	}
	config, err := deferred.ClientConfig()
	if err != nil {
		return Config{}, choice.unusable(err, &kubeconfig, rules)
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
	return Config{Config: config, Context: choice.context(kubeconfig.CurrentContext), Namespace: namespace}, nil
}

// context returns the name of the context in use. The argument is the kubeconfig's current context.
func (c Choice) context(current string) string {
	if c.Context == "" && current == "" && c.Cluster != "" {
		return "none"
	}
	return cmp.Or(c.Context, current, "service account of the pod")
}
