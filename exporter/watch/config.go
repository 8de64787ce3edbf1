package watch

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/exporter/watch/batching"
)

// LoadConfig finds the way to the API server as kubectl does: the file kubeconfig;
// if that is empty the files of $KUBECONFIG or ~/.kube/config; in a pod without
// either, its service account.
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

// clients makes the clients of the API's groups over one pool of connections.
type clients struct {
	config *rest.Config
	http   *http.Client
	codecs runtime.NegotiatedSerializer
	params runtime.ParameterCodec
}

// newClients does by hand what client-go's clientset would do for all groups of the API, whose types
// would be a good part of the binary. Not even those of the three groups that are needed are
// registered: exporter/decode reads without them. Status and ListOptions each group has.
func newClients(config *rest.Config) (*clients, error) {
	scheme := runtime.NewScheme()
	for _, group := range []schema.GroupVersion{core, discovery, coordination} {
		metav1.AddToGroupVersion(scheme, group)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return &clients{
		config: config,
		http:   client,
		codecs: codecs{serializer.NewCodecFactory(scheme).WithoutConversion()},
		params: runtime.NewParameterCodec(scheme),
	}, nil
}

// forGroup makes the client of one group and version.
func (c *clients) forGroup(group schema.GroupVersion) (rest.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.GroupVersion = &group
	config.APIPath = "/apis"
	if group.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = c.codecs
	// client-go still asks for JSON if not told otherwise. All six resources have
	// protobuf; a proxy or a server that has not may answer in JSON.
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// Requests are few and made one after the other for each resource; the server
	// has its own ways to slow a client down.
	config.QPS = -1
	client, err := rest.RESTClientForConfigAndClient(config, c.http)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", group, err)
	}
	return client, nil
}
