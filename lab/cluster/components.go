package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/lab/steps"
)

func (c *Cluster) startEtcd() (endpoint string) {
	if c.options.Data != "" {
		steps.Must(os.CopyFS(c.path("etcd"), os.DirFS(c.options.Data)))
	}
	endpoint = "http://" + FreePort()
	peer := FreePort()
	c.Etcd = c.run("etcd", "etcd", c.options.Nice,
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+endpoint, "--advertise-client-urls="+endpoint,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=default=http://"+peer,
		"--unsafe-no-fsync", "--log-level=warn",
		// 5,000 nodes need more than etcd's default of 2 GiB.
		"--quota-backend-bytes=8589934592",
	)
	return endpoint
}

// ControllerManagerName is the name of the controller manager's program.
const ControllerManagerName = "kube-controller-manager"

func (c *Cluster) startControllerManager(ctx context.Context) {
	c.managerAddress = FreePort()
	_, port, _ := net.SplitHostPort(c.managerAddress)
	kubeconfig := c.connect(ControllerManagerName, userControllerManager)
	flags := append([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=" + port,
		"--cert-dir=" + c.path("controller-manager"),
		"--service-account-private-key-file=" + c.path("service-account.key"),
		"--root-ca-file=" + c.path("apiserver", "apiserver.crt"),
		// There is only one replica. With leader election, a new process would have to wait until the lock of the old
		// process expires.
		"--leader-elect=false",
	}, c.options.ControllerManagerFlags...)
	c.ControllerManager = c.run(ControllerManagerName, ControllerManagerName, 0, flags...)
	if c.options.ControllerManagerPod {
		steps.Value(c.Client.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, controllerManagerPod(c.options.Release, flags), metav1.CreateOptions{}))
	}
}

// controllerManagerPod returns a pod that looks like the mirror pod of a static pod. It lacks the mirror annotation.
// With that annotation, the kubelet would delete the pod, because the node has no manifest for it.
func controllerManagerPod(release Release, flags []string) *corev1.Pod {
	const name = ControllerManagerName
	node := NodeName(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + node, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{"component": name, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			NodeName: node, HostNetwork: true, AutomountServiceAccountToken: new(false),
			PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{
				Name: name, Image: "registry.k8s.io/" + name + ":" + string(release),
				Command: append([]string{name}, flags...),
			}},
		},
	}
}

// GracePeriod returns the grace period of the node controller, and whether clients can find it out. Clients know the
// default, and can read any other value from the flags of the controller manager's pod.
func (c *Cluster) GracePeriod() (period time.Duration, shown bool) {
	for _, flag := range c.options.ControllerManagerFlags {
		if value, ok := strings.CutPrefix(flag, "--node-monitor-grace-period="); ok {
			period, err := time.ParseDuration(value)
			return period, err == nil && c.options.ControllerManagerPod
		}
	}
	return c.options.Release.DefaultGrace(), true
}

// HealthyControllerManager returns nil if the controller manager is healthy. After a restart, this means that its
// controllers are running.
func (c *Cluster) HealthyControllerManager(ctx context.Context) error {
	// The controller manager's certificate is self-signed.
	config := &rest.Config{Host: "https://" + c.managerAddress, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, Timeout: time.Second}
	client := steps.Value(kubernetes.NewForConfig(config))
	if err := client.Discovery().RESTClient().Get().AbsPath("/healthz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("request the controller manager's health: %w", err)
	}
	return nil
}

// startKubelet starts the i-th node's container runtime and its kubelet.
func (c *Cluster) startKubelet(i int) {
	node := NodeName(i)
	socket := c.path(node + ".sock")
	c.Runtimes[node] = startRuntime(socket, i)
	c.boot(node)
	_, port, _ := net.SplitHostPort(FreePort())
	c.Kubelets[node] = c.run(node, "kubelet", 0,
		"--name="+node, "--kubeconfig="+c.connect(node, userKubelet), "--runtime=unix://"+socket,
		"--root-dir="+c.path(node), "--boot-id-file="+c.path(node+".boot-id"), "--port="+port,
	)
}

// boot writes a new boot ID for a node. The kubelet reads the boot ID when it starts.
func (c *Cluster) boot(node string) {
	steps.Must(os.WriteFile(c.path(node+".boot-id"), []byte(rand.Text()), 0o600))
}

// run starts a component. Its log is in the cluster's directory.
func (c *Cluster) run(name, binary string, nice int, args ...string) *Process {
	return StartProcess(name, c.LogPath(name), Command{Path: c.binaries.Path(binary), Args: args, Nice: nice})
}

// waitReady waits until the controller manager is healthy, its pod is Running, and all hollow nodes are Ready.
func (c *Cluster) waitReady(ctx context.Context) {
	c.until(ctx, "the controller manager", c.HealthyControllerManager)
	c.until(ctx, "Ready nodes", func(ctx context.Context) error {
		nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for i := range nodes.Items {
			if isReady(&nodes.Items[i]) {
				ready++
			}
		}
		if ready < c.options.Nodes {
			return fmt.Errorf("%d of %d nodes are Ready", ready, c.options.Nodes)
		}
		return nil
	})
	if !c.options.ControllerManagerPod {
		return
	}
	c.until(ctx, "the controller manager's pod", func(ctx context.Context) error {
		pods, err := c.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
		if err == nil && (len(pods.Items) == 0 || pods.Items[0].Status.Phase != corev1.PodRunning) {
			err = errors.New("not running yet")
		}
		return err
	})
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
