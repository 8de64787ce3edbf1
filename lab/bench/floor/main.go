// Command floor is a minimal API client. It uses client-go to watch the same six resources as kubeflap, and discards
// each object after decoding it. If kubeflap needs more CPU time or memory than floor, the difference is the cost of
// kubeflap's own code.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run watches all resources until the context ends. It prints "synced" when it has listed all resources. On SIGUSR1, it
// prints the number of events.
func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	var listed, running sync.WaitGroup
	var events atomic.Int64
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			fmt.Println("events", events.Load())
		}
	}()
	for _, r := range []struct {
		resource, namespace string
		group               schema.GroupVersion
		add                 func(*runtime.Scheme) error
		expected            runtime.Object
	}{
		{"nodes", "", corev1.SchemeGroupVersion, corev1.AddToScheme, &corev1.Node{}},
		{"leases", corev1.NamespaceNodeLease, coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme, &coordinationv1.Lease{}},
		{"pods", "", corev1.SchemeGroupVersion, corev1.AddToScheme, &corev1.Pod{}},
		{"services", "", corev1.SchemeGroupVersion, corev1.AddToScheme, &corev1.Service{}},
		{"endpoints", "", corev1.SchemeGroupVersion, corev1.AddToScheme, &corev1.Endpoints{}},
		{"endpointslices", "", discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme, &discoveryv1.EndpointSlice{}},
	} {
		client, err := clientFor(config, r.group, r.add)
		if err != nil {
			return fmt.Errorf("create a client for %s: %w", r.resource, err)
		}
		listed.Add(1)
		store := &sink{events: &events, listed: sync.OnceFunc(listed.Done)}
		lw := cache.NewListWatchFromClient(client, r.resource, r.namespace, fields.Everything())
		reflector := cache.NewReflectorWithOptions(lw, r.expected, store, cache.ReflectorOptions{})
		running.Go(func() { reflector.RunWithContext(ctx) })
	}
	go func() {
		listed.Wait()
		fmt.Println("synced")
	}()
	running.Wait()
	return nil
}

// clientFor returns a client that uses protobuf. To save memory, the client knows only the types of one API group.
func clientFor(config *rest.Config, group schema.GroupVersion, add func(*runtime.Scheme) error) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := add(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath, config.QPS = &group, "/apis", -1
	if group.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	config.WarningHandler = rest.NoWarnings{}
	return rest.RESTClientFor(config)
}

// sink is a store that keeps nothing.
type sink struct {
	events *atomic.Int64
	listed func()
}

func (s *sink) Add(any) error {
	s.events.Add(1)
	return nil
}

func (s *sink) Update(any) error {
	s.events.Add(1)
	return nil
}

func (s *sink) Delete(any) error {
	s.events.Add(1)
	return nil
}

func (s *sink) Replace([]any, string) error {
	s.listed()
	return nil
}

func (s *sink) Resync() error { return nil }

// Transformer returns a function that replaces each object with an empty value. The reflector then drops the objects of
// the first list as they arrive.
func (s *sink) Transformer() cache.TransformFunc {
	return func(any) (any, error) { return struct{}{}, nil }
}
