//go:build ignore

// Command kubelet is the real kubelet without a machine below it: its container runtime is the
// lab's, over a socket, so that containers outlive it and can be made to crash. Unlike kubemark's it probes.
// The lab builds it within the module of each release.
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
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the kubelet decodes its pods with it
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
	flag.StringVar(&o.root, "root-dir", "", "the kubelet's folder")
	flag.StringVar(&o.bootID, "boot-id-file", "", "where the kernel of the machine says when it was booted")
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
	// It has made folders of its own in the meantime.
	if err := os.RemoveAll(flags.RootDirectory); err != nil {
		return fmt.Errorf("remove the folder that was made: %w", err)
	}
	flags.RootDirectory = o.root
	config.StaticPodPath, config.PodLogsDir = o.root+"/static-pods", o.root+"/pod-logs"
	config.ImageServiceEndpoint = o.runtime
	for _, dir := range []string{config.StaticPodPath, config.PodLogsDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the kubelet's folders: %w", err)
		}
	}

	client, err := connect(o.kubeconfig, 0)
	if err != nil {
		return err
	}
	// As in a real node: cmd/kubelet/app/server.go, heartbeatClientConfig.
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
	// Kubemark's does not probe; without one the kubelet takes its own.
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
