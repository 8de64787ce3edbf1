package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/proxy"
)

func (c *Cluster) startEtcd() (endpoint string, err error) {
	if c.options.Data != "" {
		if err := os.CopyFS(c.path("etcd"), os.DirFS(c.options.Data)); err != nil {
			return "", fmt.Errorf("copy the cluster's data: %w", err)
		}
	}
	client, err := FreePort()
	if err != nil {
		return "", err
	}
	peer, err := FreePort()
	if err != nil {
		return "", err
	}
	endpoint = "http://" + client
	c.Etcd, err = c.run("etcd", "etcd",
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+endpoint, "--advertise-client-urls="+endpoint,
		"--listen-peer-urls=http://"+peer, "--initial-advertise-peer-urls=http://"+peer,
		"--initial-cluster=default=http://"+peer,
		"--unsafe-no-fsync", "--log-level=warn",
		// 5,000 nodes need more than etcd's default of 2 GiB.
		"--quota-backend-bytes=8589934592",
	)
	return endpoint, err
}

func (c *Cluster) startControllerManager(ctx context.Context) error {
	listen, err := FreePort()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(listen)
	kubeconfig := c.kubeconfig(userControllerManager)
	if c.options.ControllerManagerProxied {
		if kubeconfig, err = c.proxyControllerManager(); err != nil {
			return err
		}
	}
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
	c.ControllerManager, err = c.run("kube-controller-manager", "kube-controller-manager", flags...)
	if err != nil || !c.options.ControllerManagerPod {
		return err
	}
	_, err = c.Client.CoreV1().Pods(metav1.NamespaceSystem).Create(ctx, controllerManagerPod(c.options.Release, flags), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the pod that shows the controller manager's flags: %w", err)
	}
	return nil
}

// controllerManagerPod returns a pod that looks like the mirror pod of a static pod. It lacks the mirror annotation.
// With that annotation, the kubelet would delete the pod, because the node has no manifest for it.
func controllerManagerPod(release Release, flags []string) *corev1.Pod {
	const name = "kube-controller-manager"
	node, no := NodeName(0), false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + node, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{"component": name, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			NodeName: node, HostNetwork: true, AutomountServiceAccountToken: &no,
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
	var port string
	for _, arg := range c.ControllerManager.args {
		if _, err := fmt.Sscanf(arg, "--secure-port=%s", &port); err == nil {
			break
		}
	}
	// The controller manager's certificate is self-signed.
	client := http.Client{
		Timeout:   time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+port+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("request the controller manager's health: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("request the controller manager's health: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the controller manager is not healthy: %s", response.Status)
	}
	return nil
}

// startKubelet starts the i-th node's container runtime and its kubelet.
func (c *Cluster) startKubelet(i int) error {
	node := NodeName(i)
	socket := c.path(node + ".sock")
	runtime, err := startRuntime(socket, i)
	if err != nil {
		return err
	}
	c.Runtimes[node] = runtime
	if err := c.boot(node); err != nil {
		return err
	}
	listen, err := FreePort()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(listen)
	kubeconfig := c.kubeconfig(numbered(userKubelet, i%max(1, c.options.KubeletServers)))
	if c.options.KubeletsLinked {
		link, err := proxy.StartLink(strings.TrimPrefix(c.Config.Host, "https://"))
		if err != nil {
			return err
		}
		c.KubeletLinks[node], c.stops = link, append(c.stops, link.Stop)
		direct := kubeconfig
		kubeconfig += "-" + node
		if err := leadKubeconfig(direct, kubeconfig, "https://"+link.Address, ""); err != nil {
			return err
		}
	}
	c.Kubelets[node], err = c.run(node, "kubelet",
		"--name="+node, "--kubeconfig="+kubeconfig, "--runtime=unix://"+socket,
		"--root-dir="+c.path(node), "--boot-id-file="+c.path(node+".boot-id"), "--port="+port,
	)
	return err
}

// boot writes a new boot ID for a node. The kubelet reads the boot ID when it starts.
func (c *Cluster) boot(node string) error {
	if err := os.WriteFile(c.path(node+".boot-id"), []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("write the boot ID: %w", err)
	}
	return nil
}

// run starts a component. Its log is in the cluster's directory.
func (c *Cluster) run(name, binary string, args ...string) (*Process, error) {
	return StartProcess(name, c.LogPath(name), Command{Path: c.binaries.Path(binary), Args: args})
}

// waitReady waits until the controller manager is healthy, its pod is Running, and all hollow nodes are Ready.
func (c *Cluster) waitReady(ctx context.Context) error {
	if err := c.until(ctx, "the controller manager", c.HealthyControllerManager); err != nil {
		return err
	}
	err := c.until(ctx, "Ready nodes", func(ctx context.Context) error {
		nodes, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		ready := 0
		for i := range nodes.Items {
			if hasReady(&nodes.Items[i], corev1.ConditionTrue) {
				ready++
			}
		}
		if ready < c.options.Nodes {
			return fmt.Errorf("%d of %d nodes are Ready", ready, c.options.Nodes)
		}
		return nil
	})
	if err != nil || !c.options.ControllerManagerPod {
		return err
	}
	return c.until(ctx, "the controller manager's pod", func(ctx context.Context) error {
		pods, err := c.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		if len(pods.Items) == 0 || pods.Items[0].Status.Phase != corev1.PodRunning {
			return fmt.Errorf("not running yet")
		}
		return nil
	})
}
