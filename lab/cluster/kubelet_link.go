package cluster

import (
	"strings"

	"github.com/kubeflap/kubeflap/lab/proxy"
)

// linkKubelet puts a link on a kubelet's way to the first API server.
func (c *Cluster) linkKubelet(node, direct string) (kubeconfig string, err error) {
	link, err := proxy.StartLink(strings.TrimPrefix(c.Config.Host, "https://"))
	if err != nil {
		return "", err
	}
	c.KubeletLinks[node] = link
	kubeconfig = direct + "-" + node
	return kubeconfig, leadKubeconfig(direct, kubeconfig, "https://"+link.Address, "")
}
