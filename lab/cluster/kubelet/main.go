//go:build ignore

// Command kubelet is the real kubelet without a machine. It uses the lab's container runtime over a socket, so that
// containers outlive the kubelet and can crash. Unlike kubemark's kubelet, it runs probes. The lab builds it in the
// module of each release.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // registers the types with which the kubelet decodes pods
	cadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
)

type options struct {
	name, kubeconfig, runtime, root, bootID string
	port                                    int
}

func main() {
	var o options
	klog.InitFlags(nil)
	flag.StringVar(&o.name, "name", "", "the node's name")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server")
	flag.StringVar(&o.runtime, "runtime", "", "the container runtime's endpoint")
	flag.StringVar(&o.root, "root-dir", "", "the kubelet's directory")
	flag.StringVar(&o.bootID, "boot-id-file", "", "file with the machine's boot ID")
	flag.IntVar(&o.port, "port", 0, "the kubelet's port")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	flags, config := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{
		NodeName: o.name, KubeletPort: o.port, MaxPods: 110,
	})
	// GetHollowKubeletConfig has created an unused directory.
	if err := os.RemoveAll(flags.RootDirectory); err != nil {
		return fmt.Errorf("remove the unused directory: %w", err)
	}
	flags.RootDirectory = o.root
	config.StaticPodPath, config.PodLogsDir = o.root+"/static-pods", o.root+"/pod-logs"
	config.ImageServiceEndpoint = o.runtime
	for _, dir := range []string{config.StaticPodPath, config.PodLogsDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create the kubelet's directories: %w", err)
		}
	}

	client, err := connect(o.kubeconfig, 0)
	if err != nil {
		return err
	}
	// Use a separate client for heartbeats, as heartbeatClientConfig in cmd/kubelet/app/server.go does.
	heartbeat, err := connect(o.kubeconfig, config.NodeStatusUpdateFrequency.Duration)
	if err != nil {
		return err
	}
	bootID, err := os.ReadFile(o.bootID)
	if err != nil {
		return fmt.Errorf("read the boot ID: %w", err)
	}
	runtime, images, err := reachRuntime(ctx, o.runtime)
	if err != nil {
		return err
	}
	kubelet := kubemark.NewHollowKubelet(flags, config, client, heartbeat,
		&machine{cadvisor.Fake{NodeName: o.name}, string(bootID)}, images, runtime, cm.NewStubContainerManager())
	// Kubemark's probe manager does nothing. With nil, the kubelet creates its own.
	kubelet.KubeletDeps.ProbeManager = nil
	kubelet.Run(ctx)
	return nil
}

func connect(kubeconfig string, timeout time.Duration) (*clientset.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.UserAgent = "hollow-kubelet"
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.QPS, config.Burst = 100, 200
	if timeout > 0 {
		config.Timeout, config.QPS = timeout, -1
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return client, nil
}
