package apiclient

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/exporter/watch/batching"
)

// LoadConfig finds the API server as kubectl does: by the file kubeconfig; if that is empty, by the files of $KUBECONFIG or
// ~/.kube/config; in a pod without either, by its service account.
func LoadConfig(kubeconfig, userAgent string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	deferred := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	config, err := deferred.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load the configuration for the API server: %w", err)
	}
	config.UserAgent = userAgent
	config.Dial = batching.Dial(config.Dial)
	return config, nil
}
