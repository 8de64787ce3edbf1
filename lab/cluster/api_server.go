package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/kubeflap/kubeflap/lab/proxy"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// numbered returns the name of the i-th instance, counted from 0. The first three names are "name", "name-2" and
// "name-3".
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, i+1)
}

func (c *Cluster) startAPIServers(etcd string) {
	for i := range max(1, c.options.APIServers) {
		endpoint := etcd
		if c.options.EtcdLinked {
			link := c.link(etcd)
			c.EtcdLinks = append(c.EtcdLinks, link)
			endpoint = "http://" + link.Address
		}
		c.startAPIServer(i, endpoint)
	}
	c.APIServer = c.APIServers[0]
}

// link starts a link to a URL. Stop stops it.
func (c *Cluster) link(url string) *proxy.Link {
	_, address, _ := strings.Cut(url, "://")
	link := steps.Value(proxy.StartLink(address))
	c.stops = append(c.stops, link.Stop)
	return link
}

func (c *Cluster) startAPIServer(i int, etcd string) {
	listen := steps.Value(FreePort())
	_, port, _ := net.SplitHostPort(listen)
	key := c.path("service-account.key")
	flags := []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + port,
		"--cert-dir=" + c.path(numbered("apiserver", i)),
		"--token-auth-file=" + c.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		// The IPv4 range and the IPv6 range are both large enough for thousands of Services.
		"--service-cluster-ip-range=10.0.0.0/16,fd00:ffff::/108",
		// The endpoint reconciler would refuse the loopback address.
		"--endpoint-reconciler-type=none",
		// Without this plugin, pods can be created in a namespace that has no default ServiceAccount yet.
		"--disable-admission-plugins=ServiceAccount",
	}
	command := Command{Path: c.binaries.Path("kube-apiserver"), Args: append(flags, c.options.APIServerFlags...), Nice: c.options.Nice}
	if c.options.APIServerMemory != "" {
		command.Env = []string{"GOMEMLIMIT=" + c.options.APIServerMemory}
	}
	if c.options.APIServers > 1 {
		// Each API server renews a Lease in kube-system. The name of this Lease depends on the host name.
		command.Host = numbered("control-plane", i)
	}
	name := numbered("kube-apiserver", i)
	p, err := StartProcess(name, c.LogPath(name), command)
	if err != nil && command.Host != "" {
		c.options.Log.Warn("this machine does not allow host names per process, so the API servers share one Lease in kube-system", "err", err)
		command.Host = ""
		p, err = StartProcess(name, c.LogPath(name), command)
	}
	steps.Must(err)
	c.APIServers = append(c.APIServers, p)
	c.addresses = append(c.addresses, "https://"+listen)
}

// writeKubeconfigs waits for the certificate of the i-th API server. Then it writes one kubeconfig per user for this
// server.
func (c *Cluster) writeKubeconfigs(ctx context.Context, i int, tokens map[string]string) {
	certificate := c.path(numbered("apiserver", i), "apiserver.crt") // the server generates it
	c.until(ctx, "the API server's certificate", func(context.Context) error {
		_, err := os.Stat(certificate)
		return err
	})
	for user, token := range tokens {
		steps.Must(writeKubeconfig(c.kubeconfig(numbered(user, i)), c.addresses[i], certificate, token))
	}
}

// KubeconfigAt writes a copy of a kubeconfig. The copy has the same credentials, but uses the i-th API server, counted
// from 0.
func (c *Cluster) KubeconfigAt(i int, from string) (to string, err error) {
	certificate, err := os.ReadFile(c.path(numbered("apiserver", i), "apiserver.crt"))
	if err != nil {
		return "", err
	}
	to = numbered(from, i)
	return to, proxy.LeadKubeconfig(from, to, c.addresses[i], certificate)
}

// proxyControllerManager starts a proxy in front of the API server, and a link in front of this proxy. It returns the
// path of a kubeconfig that connects the controller manager through both.
func (c *Cluster) proxyControllerManager() (kubeconfig string) {
	c.ControllerManagerProxy = steps.Value(proxy.Start(c.Config, "127.0.0.1:0"))
	c.stops = append(c.stops, c.ControllerManagerProxy.Stop)
	c.ControllerManagerLink = c.link(c.ControllerManagerProxy.URL)
	direct := c.kubeconfig(userControllerManager)
	kubeconfig = direct + "-proxied"
	steps.Must(c.ControllerManagerProxy.Kubeconfig(direct, kubeconfig))
	steps.Must(proxy.LeadKubeconfig(kubeconfig, kubeconfig, "https://"+c.ControllerManagerLink.Address, nil))
	return kubeconfig
}
