// Package cluster runs a real Kubernetes control plane with hollow kubelets on loopback. Cluster.Stop removes
// everything.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// startTimeout is long, because the machine may be busy. An API server with thousands of nodes needs minutes to start.
const startTimeout = 10 * time.Minute

// Options configures a cluster.
type Options struct {
	// Release is the version of Kubernetes. If it is empty, the lab runs the newest release.
	Release Release
	// Nodes is the number of hollow kubelets, named node-1, node-2 and so on.
	Nodes int
	// ControllerManagerFlags are additional flags of the controller manager.
	ControllerManagerFlags []string
	// ControllerManagerPod creates a pod with the controller manager's flags, as in a kubeadm cluster. The controller
	// manager itself does not run in this pod.
	ControllerManagerPod bool
	// NoControllerManager omits the controller manager and the kubelets, so that no component changes objects.
	NoControllerManager bool
	// APIServerFlags are additional flags of the API server.
	APIServerFlags []string
	// Proxied connects the controller manager and each kubelet to the API server through a proxy of its own.
	Proxied bool
	// APIServerMemory is the GOMEMLIMIT of the API server. Empty means no limit.
	APIServerMemory string
	// Nice is the niceness of etcd and the API server, relative to the lab's own niceness.
	Nice int
	// Data is a directory that SaveData has written. The cluster starts with a copy of it. If Data is empty, the
	// cluster starts empty.
	Data string
	// Log receives the lab's messages.
	Log *slog.Logger
}

// Cluster is a running control plane. Scenarios can pause and restart its processes.
type Cluster struct {
	// Kubeconfig is the path of a kubeconfig for kubectl and kubeflap, with all permissions.
	Kubeconfig string
	// Config and Client use Kubeconfig.
	Config *rest.Config
	Client kubernetes.Interface

	Etcd, APIServer, ControllerManager *Process
	// Kubelets holds the hollow kubelets by node name.
	Kubelets map[string]*Process
	// Proxies holds the proxies of the kubelets by node name, and that of the controller manager by ControllerManagerName.
	// It is empty unless Options.Proxied is set.
	Proxies map[string]*proxy.Proxy
	// Runtimes holds the container runtimes of the nodes, by node name.
	Runtimes map[string]*Runtime

	options  Options
	binaries Binaries
	dir      string
	// managerAddress is the host and port of the controller manager.
	managerAddress string
}

// Start starts all components, and builds them if necessary. It returns when all nodes are Ready. The caller must call
// Stop.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Release == "" {
		options.Release = Newest
	}
	c := &Cluster{options: options, Kubelets: map[string]*Process{}, Proxies: map[string]*proxy.Proxy{}, Runtimes: map[string]*Runtime{}}
	err := steps.Run(func() {
		c.binaries = Build(ctx, options.Log, options.Release)
		c.dir = steps.Value(os.MkdirTemp("", "kubeflap-lab-"))
		c.start(ctx)
	})
	if err != nil {
		c.Stop()
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tokens := c.writeCredentials()
	c.writeKubeconfigs(ctx, c.startAPIServer(c.startEtcd()), tokens)
	c.Kubeconfig = c.kubeconfig(userAdmin)
	c.Config = steps.Value(clientcmd.BuildConfigFromFlags("", c.Kubeconfig))
	c.Config.QPS = -1
	c.Config.WarningHandler = rest.NoWarnings{}
	c.Client = steps.Value(kubernetes.NewForConfig(c.Config))
	c.until(ctx, "the API server", c.ReadyAPIServer)
	if !c.options.NoControllerManager {
		c.startControllerManager(ctx)
		for i := range c.options.Nodes {
			c.startKubelet(i)
		}
		c.waitReady(ctx)
	}
	c.options.Log.Info("cluster is ready", "nodes", c.options.Nodes, "kubeconfig", c.Kubeconfig,
		"took", time.Since(begin).Round(time.Millisecond))
}

// NodeName returns the name of the i-th hollow node, counted from 0.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// ReadyAPIServer returns nil if the API server reports that it is ready.
func (c *Cluster) ReadyAPIServer(ctx context.Context) error {
	if err := c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("request the API server's readiness: %w", err)
	}
	return nil
}

// until repeats the function check until it returns nil, or until a process of the cluster has exited.
func (c *Cluster) until(ctx context.Context, what string, check func(context.Context) error) {
	steps.Must(untilAlive(ctx, startTimeout, what, c.Alive, check))
}

// Alive returns nil if every process of the cluster is running.
func (c *Cluster) Alive() error {
	var errs []error
	for _, p := range c.processes() {
		errs = append(errs, p.Alive())
	}
	return errors.Join(errs...)
}

// SaveData stops the cluster's processes, and copies etcd's data to a new directory. To start another cluster from this
// data, set Options.Data to the directory.
func (c *Cluster) SaveData(ctx context.Context, dir string) {
	for _, p := range c.processes() {
		if p != c.Etcd {
			p.Stop()
		}
	}
	steps.Must(c.Etcd.Terminate(ctx), os.CopyFS(dir, os.DirFS(c.path("etcd"))))
}

// Stop kills every process and removes the data.
func (c *Cluster) Stop() {
	for _, p := range c.processes() {
		p.Stop()
	}
	for _, r := range c.Runtimes {
		r.stop()
	}
	for _, p := range c.Proxies {
		p.Stop()
	}
	if err := os.RemoveAll(c.dir); err != nil {
		c.options.Log.Warn("cannot remove the cluster's data", "dir", c.dir, "err", err)
	}
}

// Remove simulates the removal of a node's machine. It stops the kubelet and the container runtime, and keeps the Node
// object.
func (c *Cluster) Remove(node string) {
	c.Kubelets[node].Stop()
	c.Runtimes[node].stop()
	delete(c.Kubelets, node)
	delete(c.Runtimes, node)
}

// Boot simulates a reboot. The node loses all containers, and gets a new boot ID. The caller must have stopped the
// kubelet.
func (c *Cluster) Boot(node string) {
	c.Runtimes[node].forget()
	c.boot(node)
	c.Kubelets[node].Restart()
}

func (c *Cluster) processes() []*Process {
	var all []*Process
	for _, p := range c.Kubelets {
		all = append(all, p)
	}
	for _, p := range []*Process{c.ControllerManager, c.APIServer, c.Etcd} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// LogPath returns a path for the log of a process. Stop removes this log together with the cluster's data.
func (c *Cluster) LogPath(name string) string { return c.path(name + ".log") }

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.dir}, elements...)...)
}
