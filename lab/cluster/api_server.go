package cluster

import (
	"context"
	"net"
	"os"

	"github.com/kubeflap/kubeflap/lab/proxy"
)

// startAPIServer starts the API server, and returns its URL.
func (c *Cluster) startAPIServer(etcd string) (url string) {
	listen := FreePort()
	_, port, _ := net.SplitHostPort(listen)
	key := c.path("service-account.key")
	flags := []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + port,
		"--cert-dir=" + c.path("apiserver"),
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
	c.APIServer = StartProcess("kube-apiserver", c.LogPath("kube-apiserver"), command)
	return "https://" + listen
}

// writeKubeconfigs waits for the certificate of the API server. Then it writes one kubeconfig per user.
func (c *Cluster) writeKubeconfigs(ctx context.Context, address string, tokens map[string]string) {
	certificate := c.path("apiserver", "apiserver.crt") // the server generates it
	c.until(ctx, "the API server's certificate", func(context.Context) error {
		_, err := os.Stat(certificate)
		return err
	})
	for user, token := range tokens {
		writeKubeconfig(c.kubeconfig(user), address, certificate, token)
	}
}

// connect returns the path of a kubeconfig with which a component reaches the API server as a user, through a proxy of its
// own if Options.Proxied is set.
func (c *Cluster) connect(component, user string) (kubeconfig string) {
	direct := c.kubeconfig(user)
	if !c.options.Proxied {
		return direct
	}
	c.Proxies[component] = proxy.Start(c.Config)
	kubeconfig = c.kubeconfig(component + "-proxied")
	c.Proxies[component].Kubeconfig(direct, kubeconfig)
	return kubeconfig
}
