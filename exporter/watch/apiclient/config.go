package apiclient

import (
	"cmp"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubeflap/kubeflap/exporter/watch/batching"
)

// Choice names an API server and a user, as kubectl's flags of these names do. An empty field leaves it to the kubeconfig.
type Choice struct {
	// Kubeconfig is the path of a file.
	Kubeconfig string
	// Context, Cluster and User are names in the kubeconfig.
	Context, Cluster, User string
}

// Config is how to connect to an API server.
type Config struct {
	*rest.Config
	// Context is the context of the kubeconfig, or says what is used instead.
	Context string
	// Namespace is that of the context or of the service account.
	Namespace string
}

// LoadConfig finds the API server as kubectl does: by the file that choice names; without one by the files of $KUBECONFIG or
// ~/.kube/config; in a pod without either, by its service account. An error names the files that were tried and the contexts
// that they have.
func LoadConfig(choice Choice, userAgent string) (Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = choice.Kubeconfig
	deferred := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: choice.Context, Context: api.Context{Cluster: choice.Cluster, AuthInfo: choice.User},
	})
	// That fails only if a file cannot be read.
	kubeconfig, err := deferred.RawConfig()
	if err != nil {
		return Config{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if err := choice.missing(&kubeconfig, rules); err != nil {
		return Config{}, err
	}
	config, err := deferred.ClientConfig()
	if err != nil {
		return Config{}, unusable(err, &kubeconfig, rules)
	}
	namespace, _, err := deferred.Namespace()
	if err != nil {
		return Config{}, fmt.Errorf("read the namespace of the context: %w", err)
	}
	config.UserAgent = userAgent
	config.Dial = batching.Dial(config.Dial)
	return Config{Config: config, Context: choice.context(kubeconfig.CurrentContext), Namespace: namespace}, nil
}

// context names the context in use, given the current one of a kubeconfig that can be used.
func (c Choice) context(current string) string {
	if c.Context == "" && current == "" && c.Cluster != "" {
		return "none"
	}
	return cmp.Or(c.Context, current, "service account of the pod")
}
