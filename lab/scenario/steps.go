package scenario

import (
	"k8s.io/client-go/kubernetes"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Steps has the methods that change the cluster. They write objects or control processes.
type Steps struct {
	Cluster *cluster.Cluster
	Client  kubernetes.Interface
}
