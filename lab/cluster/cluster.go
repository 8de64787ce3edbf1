// Package cluster starts a real Kubernetes control plane with hollow kubelets
// on loopback, and stops it again without a trace.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/proxy"
)

// startTimeout is generous: a machine that builds at the same time is slow, and an API server with thousands of nodes reads for minutes.
const startTimeout = 10 * time.Minute

// Options is what a scenario may choose about its cluster.
type Options struct {
	// Release is the version of Kubernetes; empty is the newest.
	Release Release
	// Nodes is the number of hollow kubelets, named node-1, node-2 and so on.
	Nodes int
	// ControllerManagerFlags are added to those the lab needs.
	ControllerManagerFlags []string
	// ControllerManagerPod adds a pod that shows those flags, as kubeadm's does.
	ControllerManagerPod bool
	// NoControllerManager leaves the controller manager out: then nothing changes what was written but who wrote it.
	NoControllerManager bool
	// APIServerFlags are added to those the lab needs.
	APIServerFlags []string
	// APIServers is how many share the etcd, if more than one, each as if on its own machine. Everybody uses the first, but the kubelets use the first KubeletServers in turn.
	APIServers, KubeletServers int
	// ControllerManagerProxied leads the controller manager's way to the API server through a link and a proxy.
	ControllerManagerProxied bool
	// EtcdLinked leads each API server's way to etcd through a link.
	EtcdLinked bool
	// KubeletsLinked leads each kubelet's way to the API server through a link.
	KubeletsLinked bool
	// APIServerMemory is what the API server tries to get by with, as GOMEMLIMIT has it; empty is no limit.
	APIServerMemory string
	// Nice is by how much the control plane gives way to other processes.
	Nice int
	// Data is a folder that SaveData wrote, to begin with a copy of; empty is an empty cluster.
	Data string
	// Log says what happens; nil is silent.
	Log *slog.Logger
}

// Cluster is a running control plane. Its processes may be paused and restarted.
type Cluster struct {
	// Kubeconfig is a file for kubectl and kubeflap, with all rights.
	Kubeconfig string
	// Config and Client are the same as objects.
	Config *rest.Config
	Client kubernetes.Interface

	Etcd, APIServer, ControllerManager *Process
	// APIServers are all of them; APIServer is the first.
	APIServers []*Process
	// EtcdLinks are the ways of the API servers to etcd, if they are linked.
	EtcdLinks []*proxy.Link
	// ControllerManagerLink and, behind it, ControllerManagerProxy are on the controller manager's way to the API server, if it is proxied.
	ControllerManagerLink  *proxy.Link
	ControllerManagerProxy *proxy.Proxy
	// Kubelets are the hollow kubelets by node name.
	Kubelets map[string]*Process
	// KubeletLinks are their ways to the API server by node name, if they are linked.
	KubeletLinks map[string]*proxy.Link
	// Runtimes are their container runtimes.
	Runtimes map[string]*Runtime

	options  Options
	binaries Binaries
	dir      string
	// addresses are those of the API servers.
	addresses []string
}

// Start builds the components if needed, starts them and returns when every
// node is Ready. The caller must call Stop.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Release == "" {
		options.Release = Newest
	}
	binaries, err := Build(ctx, options.Log, options.Release)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubeflap-lab-")
	if err != nil {
		return nil, fmt.Errorf("create the cluster's folder: %w", err)
	}
	c := &Cluster{options: options, binaries: binaries, dir: dir, Kubelets: map[string]*Process{}, KubeletLinks: map[string]*proxy.Link{}, Runtimes: map[string]*Runtime{}}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tokens, err := c.writeCredentials()
	if err != nil {
		return err
	}
	endpoint, err := c.startEtcd()
	if err != nil {
		return err
	}
	if err := c.startAPIServers(endpoint); err != nil {
		return err
	}
	if err := c.connect(ctx, tokens); err != nil {
		return err
	}
	for _, p := range append([]*Process{c.Etcd}, c.APIServers...) {
		if err := p.Renice(c.options.Nice); err != nil {
			return err
		}
	}
	if err := c.startNodes(ctx); err != nil {
		return err
	}
	c.options.Log.Info("cluster is ready", "nodes", c.options.Nodes, "kubeconfig", c.Kubeconfig,
		"took", time.Since(begin).Round(time.Millisecond))
	return nil
}

// startNodes starts what makes nodes of objects: the controller manager and the kubelets.
func (c *Cluster) startNodes(ctx context.Context) error {
	if c.options.NoControllerManager {
		return nil
	}
	if err := c.startControllerManager(ctx); err != nil {
		return err
	}
	for i := range c.options.Nodes {
		if err := c.startKubelet(i); err != nil {
			return err
		}
	}
	return c.waitReady(ctx)
}

// NodeName is the name of the i-th hollow node, counted from 0.
func NodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// connect waits for the API servers and connects to the first.
func (c *Cluster) connect(ctx context.Context, tokens map[string]string) (err error) {
	for i := range c.APIServers {
		if err := c.writeKubeconfigs(ctx, i, tokens); err != nil {
			return err
		}
	}
	c.Kubeconfig = c.kubeconfig(userAdmin)
	c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.QPS = -1
	c.Config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	c.Client = client
	return c.until(ctx, "the API server", c.ReadyAPIServer)
}

// ReadyAPIServer is nil when the API server says that it is ready.
func (c *Cluster) ReadyAPIServer(ctx context.Context) error {
	if err := c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("ask the API server: %w", err)
	}
	return nil
}

// until polls, and gives up at once when a process has ended.
func (c *Cluster) until(ctx context.Context, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := poll.Until(ctx, startTimeout, what, func(ctx context.Context) error {
		if err := c.Alive(); err != nil {
			cancel(err)
		}
		return check(ctx)
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return errors.Join(cause, err)
	}
	return err
}

// Alive is nil while every process runs.
func (c *Cluster) Alive() error {
	var errs []error
	for _, p := range c.processes() {
		errs = append(errs, p.Alive())
	}
	return errors.Join(errs...)
}

// SaveData stops the cluster's processes and keeps its data in a new folder, for Options.Data.
func (c *Cluster) SaveData(ctx context.Context, dir string) error {
	for _, p := range c.processes() {
		if p != c.Etcd {
			p.Stop()
		}
	}
	if err := c.Etcd.Terminate(ctx); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(c.path("etcd"))); err != nil {
		return fmt.Errorf("keep the cluster's data: %w", err)
	}
	return nil
}

// Stop kills every process and removes the data.
func (c *Cluster) Stop() {
	for _, p := range c.processes() {
		p.Stop()
	}
	for _, r := range c.Runtimes {
		r.stop()
	}
	c.stopPaths()
	if err := os.RemoveAll(c.dir); err != nil {
		c.options.Log.Warn("cannot remove the cluster's data", "dir", c.dir, "err", err)
	}
}

// Remove takes a node's machine away: its kubelet and its container runtime. The Node object stays.
func (c *Cluster) Remove(node string) {
	c.Kubelets[node].Stop()
	c.Runtimes[node].stop()
	delete(c.Kubelets, node)
	delete(c.Runtimes, node)
}

// Boot lets a node's machine, whose kubelet was stopped, start again: no container has survived, and the boot ID is another.
func (c *Cluster) Boot(node string) error {
	c.Runtimes[node].forget()
	if err := c.boot(node); err != nil {
		return err
	}
	return c.Kubelets[node].Restart()
}

func (c *Cluster) processes() []*Process {
	var all []*Process
	for _, p := range c.Kubelets {
		all = append(all, p)
	}
	for _, p := range slices.Concat([]*Process{c.ControllerManager}, c.APIServers, []*Process{c.Etcd}) {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// LogPath is the file for the output of a further process of the lab's, which
// goes with the cluster's data.
func (c *Cluster) LogPath(name string) string { return c.path(name + ".log") }

func (c *Cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.dir}, elements...)...)
}
