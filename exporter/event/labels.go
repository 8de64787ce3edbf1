package event

// Trait is a property that several nodes can share, such as a zone or a host.
type Trait uint8

// The traits that node labels describe.
const (
	TraitZone Trait = iota + 1
	TraitRegion
	TraitInstanceType
	// TraitPool is a group of nodes that are created and upgraded together.
	TraitPool
	// TraitFaultDomain is a group of machines within a zone that share a rack or a power supply.
	TraitFaultDomain
	// TraitHost is the physical machine on which virtual nodes run.
	TraitHost
)

// String returns the trait in words, such as "node pool".
func (t Trait) String() string { return textOf(traitTexts[:], t) }

// NodeLabel is a node label that kubeflap reads.
type NodeLabel struct {
	Key   string
	Trait Trait
}

// NodeLabels returns the node labels that kubeflap reads, in the order of docs/recording-format.md. kubeflap ignores
// all other labels, because they can contain anything. The list omits labels whose value differs on each node, such as
// kubernetes.io/hostname.
func NodeLabels() []NodeLabel {
	return []NodeLabel{
		{"topology.kubernetes.io/zone", TraitZone},
		{"topology.kubernetes.io/region", TraitRegion},
		{"node.kubernetes.io/instance-type", TraitInstanceType},
		{"agentpool", TraitPool},
		{"alibabacloud.com/nodepool-id", TraitPool},
		{"alpha.eksctl.io/nodegroup-name", TraitPool},
		{"cloud.google.com/gke-nodepool", TraitPool},
		{"doks.digitalocean.com/node-pool", TraitPool},
		{"eks.amazonaws.com/nodegroup", TraitPool},
		{"hypershift.openshift.io/nodePool", TraitPool},
		{"ibm-cloud.kubernetes.io/worker-pool-name", TraitPool},
		{"k8s.scaleway.com/pool-name", TraitPool},
		{"karpenter.sh/nodepool", TraitPool},
		{"karpenter.sh/provisioner-name", TraitPool},
		{"kops.k8s.io/instancegroup", TraitPool},
		{"kubernetes.azure.com/agentpool", TraitPool},
		{"lke.linode.com/pool-id", TraitPool},
		{"worker.gardener.cloud/pool", TraitPool},
		{"oci.oraclecloud.com/fault-domain", TraitFaultDomain},
		{"cloud.google.com/gce-topology-host", TraitHost},
		{"node.cluster.x-k8s.io/esxi-host", TraitHost},
		{"node.k8s.linode.com/host-uuid", TraitHost},
		{"nutanix.com/prism-host-name", TraitHost},
		{"oci.oraclecloud.com/host.id", TraitHost},
	}
}
