package cluster

import (
	"strings"

	"github.com/kubeflap/kubeflap/lab/proxy"
)

// linkKubelet starts a link between a kubelet and the first API server. It returns the path of the kubeconfig that uses
// the link.
func (c *Cluster) linkKubelet(node, direct string) (kubeconfig string, err error) {
	link, err := proxy.StartLink(strings.TrimPrefix(c.Config.Host, "https://"))
	if err != nil {
		return "", err
	}
	c.KubeletLinks[node] = link
	kubeconfig = direct + "-" + node
	return kubeconfig, leadKubeconfig(direct, kubeconfig, "https://"+link.Address, "")
}
