package event

import "time"

// Meta identifies an object.
type Meta struct {
	UID       UID    `json:"uid,omitzero"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// ResourceVersion is the resourceVersion. It changes with each write of the object, and is the same for all
	// clients.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Metadata returns the object's identity.
func (m *Meta) Metadata() *Meta { return m }

// Status is a condition's status. The zero value is StatusUnknown, because the API conventions treat an absent
// condition as Unknown.
type Status uint8

// The statuses of a condition.
const (
	StatusUnknown Status = iota
	StatusTrue
	StatusFalse
)

// String returns the value of the label `status`.
func (s Status) String() string { return textOf(statusTexts[:], s) }

// ParseStatus converts the status of a condition. It returns StatusUnknown for any string that the API does not define.
func ParseStatus(s string) Status {
	switch s {
	case "True":
		return StatusTrue
	case "False":
		return StatusFalse
	}
	return StatusUnknown
}

// Condition is a condition of a node or a pod.
type Condition struct {
	Status  Status `json:"status,omitzero"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// LastHeartbeatTime is lastHeartbeatTime, by the node's clock. Its resolution is 1 s. Only conditions of nodes have
	// it.
	LastHeartbeatTime time.Time `json:"heartbeat,omitzero"`
	// LastTransitionTime is lastTransitionTime, by the clock of the client that wrote the condition. Its resolution is
	// 1 s.
	LastTransitionTime time.Time `json:"transition,omitzero"`
}

// Service is a Service, reduced to its type, its selector and publishNotReadyAddresses.
type Service struct {
	Meta
	// Type is ClusterIP, NodePort, LoadBalancer or ExternalName.
	Type string `json:"type,omitempty"`
	// Selector is spec.selector. If it is empty, no Kubernetes controller derives the addresses from pods.
	Selector        map[string]string `json:"selector,omitempty"`
	PublishNotReady bool              `json:"publishNotReady,omitempty"`
}

// Kind returns KindService.
func (*Service) Kind() Kind { return KindService }

// EndpointSlice is an EndpointSlice, which holds some or all addresses of a Service.
type EndpointSlice struct {
	Meta
	// Service is the label kubernetes.io/service-name. It names a Service in the slice's namespace.
	Service string `json:"service,omitempty"`
	// Owner is the UID of the Service that owns the slice, or zero if no Service owns it.
	Owner UID `json:"owner,omitzero"`
	// ManagedBy is the label endpointslice.kubernetes.io/managed-by.
	ManagedBy string `json:"managedBy,omitempty"`
	// Writer is the field manager that last wrote the endpoints.
	Writer    string    `json:"writer,omitempty"`
	Addresses []Address `json:"addresses,omitempty"`
}

// Kind returns KindEndpointSlice.
func (*EndpointSlice) Kind() Kind { return KindEndpointSlice }

// Endpoints is an Endpoints object, which holds the addresses of the Service with the same name.
type Endpoints struct {
	Meta
	// Truncated is set if the controller omitted addresses above the limit of 1,000.
	Truncated bool `json:"truncated,omitempty"`
	// Writer is the field manager that last wrote the subsets.
	Writer string `json:"writer,omitempty"`
	// LastApplied is set if the annotation kubectl.kubernetes.io/last-applied-configuration contains subsets. The
	// annotation remains when a controller overwrites the subsets.
	LastApplied bool `json:"lastApplied,omitempty"`
	// OtherWriter is like Writer, but ignores the kube-controller-manager. It is empty if no other field manager owns
	// the subsets.
	OtherWriter string    `json:"otherWriter,omitempty"`
	Addresses   []Address `json:"addresses,omitempty"`
}

// Kind returns KindEndpoints.
func (*Endpoints) Kind() Kind { return KindEndpoints }

// Address is a Service address in an EndpointSlice or an Endpoints object.
type Address struct {
	// UID is the UID of the targetRef, or AddressUID(IP) if the address has no targetRef.
	UID UID `json:"uid"`
	// IP is an IP address, or a host name if the slice has the type FQDN.
	IP string `json:"ip"`
	// ByHand is set if the address is manually managed. Such an address has no targetRef, because no controller derived
	// it from a pod.
	ByHand      bool `json:"byHand,omitempty"`
	Ready       bool `json:"ready,omitempty"`
	Terminating bool `json:"terminating,omitempty"`
}

// Cluster describes the API server.
type Cluster struct {
	Meta
	// Version is the API server's version, such as "v1.36.3".
	Version string `json:"version,omitempty"`
}

// Kind returns KindCluster.
func (*Cluster) Kind() Kind { return KindCluster }
