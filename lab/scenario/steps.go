package scenario

import (
	"k8s.io/client-go/kubernetes"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Steps change the cluster: its objects, as somebody does through the API, and its processes.
type Steps struct {
	Cluster *cluster.Cluster
	Client  kubernetes.Interface
}
