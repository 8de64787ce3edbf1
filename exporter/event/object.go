package event

import "time"

// Meta identifies an object.
type Meta struct {
	UID       UID    `json:"uid,omitzero"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Version is the resourceVersion, which identifies the write of the object. It is the same for all clients.
	Version string `json:"resourceVersion,omitempty"`
}

// Metadata returns the object's identity.
func (m *Meta) Metadata() *Meta { return m }

// Status is the status of a condition. The zero value is unknown, which is what an absent condition means (API conventions).
type Status uint8

// The statuses of a condition.
const (
	StatusUnknown Status = iota
	StatusTrue
	StatusFalse
)

// String returns the value of the label `status`.
func (s Status) String() string { return textOf(statusTexts[:], s) }

// ParseStatus converts a condition's status. Any text that the API does not define is unknown.
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
	// Heartbeat is lastHeartbeatTime (nodes only), by the node's clock, to the second.
	Heartbeat time.Time `json:"heartbeat,omitzero"`
	// Transition is lastTransitionTime, by the writer's clock, to the second.
	Transition time.Time `json:"transition,omitzero"`
	// Writer is the field manager that last wrote the status (managedFields; pods only).
	Writer string `json:"writer,omitempty"`
}

// Service is a Service.
type Service struct {
	Meta
	// Type is ClusterIP, NodePort, LoadBalancer or ExternalName.
	Type string `json:"type,omitempty"`
	// Selector is empty if no controller makes the addresses from pods.
	Selector        map[string]string `json:"selector,omitempty"`
	PublishNotReady bool              `json:"publishNotReady,omitempty"`
}

// Kind is KindService.
func (*Service) Kind() Kind { return KindService }

// EndpointSlice is an EndpointSlice: some of the addresses of one Service.
type EndpointSlice struct {
	Meta
	// Service is the label kubernetes.io/service-name; the Service is in the slice's namespace.
	Service string `json:"service,omitempty"`
	// Owner is the UID of the owning Service, zero if the slice has no such owner.
	Owner UID `json:"owner,omitzero"`
	// ManagedBy is the label endpointslice.kubernetes.io/managed-by.
	ManagedBy string `json:"managedBy,omitempty"`
	// Writer is the field manager that last wrote the endpoints.
	Writer string `json:"writer,omitempty"`
	// LastApplied: the annotation of kubectl apply (kubectl.kubernetes.io/last-applied-configuration) has endpoints.
	LastApplied bool `json:"lastApplied,omitempty"`
	// OtherWriter is the field manager that last wrote the endpoints, the kube-controller-manager aside. It still owns the
	// field. It is empty if there is none.
	OtherWriter string    `json:"otherWriter,omitempty"`
	Addresses   []Address `json:"addresses,omitempty"`
}

// Kind is KindEndpointSlice.
func (*EndpointSlice) Kind() Kind { return KindEndpointSlice }

// Endpoints is an Endpoints object: the addresses of the Service of the same name.
type Endpoints struct {
	Meta
	// ManagedBy is the label endpoints.kubernetes.io/managed-by (v1.33 and later).
	ManagedBy string `json:"managedBy,omitempty"`
	// Truncated: there are more than 1,000 addresses, and the controller left out the rest.
	Truncated bool `json:"truncated,omitempty"`
	// Writer is the field manager that last wrote the subsets.
	Writer string `json:"writer,omitempty"`
	// LastApplied: the annotation of kubectl apply (kubectl.kubernetes.io/last-applied-configuration) has subsets. It stays when a
	// controller overwrites the subsets.
	LastApplied bool `json:"lastApplied,omitempty"`
	// OtherWriter is the field manager that last wrote the subsets, the kube-controller-manager aside. It still owns the field.
	// It is empty if there is none.
	OtherWriter string    `json:"otherWriter,omitempty"`
	Addresses   []Address `json:"addresses,omitempty"`
}

// Kind is KindEndpoints.
func (*Endpoints) Kind() Kind { return KindEndpoints }

// Address is an address of a Service in a slice or in Endpoints.
type Address struct {
	// UID is that of the target (targetRef), or made from IP if there is none.
	UID UID `json:"uid"`
	// IP is the address: an IP, or a host name in a slice of type FQDN.
	IP   string `json:"ip"`
	Node string `json:"node,omitempty"`
	// ByHand: the address is manually managed. It has no targetRef, so no controller made it from a pod.
	ByHand      bool `json:"byHand,omitempty"`
	Ready       bool `json:"ready,omitempty"`
	Terminating bool `json:"terminating,omitempty"`
}

// Cluster describes the API server.
type Cluster struct {
	Meta
	// Version is its version: "v1.36.3".
	Version string `json:"version,omitempty"`
}

// Kind is KindCluster.
func (*Cluster) Kind() Kind { return KindCluster }
