package event

// NodeLabel is a node label that kubeflap reads. Several nodes can share what it identifies, such as a zone. A node pool is
// a group of nodes that are created and upgraded together. A fault domain is a group of machines within a zone that share a
// rack or a power supply. A host is the physical machine on which virtual nodes run.
type NodeLabel struct{ Key, Identifies string }

// NodeLabels returns the node labels that kubeflap reads, in the order of docs/recording-format.md. kubeflap ignores
// all other labels, because they can contain anything. The list omits labels whose value differs on each node, such as
// kubernetes.io/hostname.
func NodeLabels() []NodeLabel {
	return []NodeLabel{
		{"topology.kubernetes.io/zone", "zone"},
		{"topology.kubernetes.io/region", "region"},
		{"node.kubernetes.io/instance-type", "instance type"},
		{"agentpool", "node pool"},
		{"alibabacloud.com/nodepool-id", "node pool"},
		{"alpha.eksctl.io/nodegroup-name", "node pool"},
		{"cloud.google.com/gke-nodepool", "node pool"},
		{"doks.digitalocean.com/node-pool", "node pool"},
		{"eks.amazonaws.com/nodegroup", "node pool"},
		{"hypershift.openshift.io/nodePool", "node pool"},
		{"ibm-cloud.kubernetes.io/worker-pool-name", "node pool"},
		{"k8s.scaleway.com/pool-name", "node pool"},
		{"karpenter.sh/nodepool", "node pool"},
		{"karpenter.sh/provisioner-name", "node pool"},
		{"kops.k8s.io/instancegroup", "node pool"},
		{"kubernetes.azure.com/agentpool", "node pool"},
		{"lke.linode.com/pool-id", "node pool"},
		{"worker.gardener.cloud/pool", "node pool"},
		{"oci.oraclecloud.com/fault-domain", "fault domain"},
		{"cloud.google.com/gce-topology-host", "host"},
		{"node.cluster.x-k8s.io/esxi-host", "host"},
		{"node.k8s.linode.com/host-uuid", "host"},
		{"nutanix.com/prism-host-name", "host"},
		{"oci.oraclecloud.com/host.id", "host"},
	}
}
