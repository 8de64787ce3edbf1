package recording

import "github.com/kubeflap/kubeflap/exporter/event"

// The functions in this file receive shallow copies of objects. A copy shares its pointers, lists and maps with the
// original. The functions therefore replace them, and never modify their contents.

func (a *Anonymiser) node(n event.Node) *event.Node {
	n.Meta = event.Meta{UID: a.uid(n.UID), Namespace: a.namespaceName(n.Namespace), Name: a.nodeName(n.Name)}
	n.Ready = a.condition("", n.Ready)
	n.Taints = mapSlice(n.Taints, func(t event.Taint) event.Taint {
		t.Key = a.taintKey(t.Key)
		t.Value = a.pseudonym(realName{"value", "", t.Value})
		t.Effect = taintEffects.orOther(t.Effect)
		return t
	})
	n.KubeletVersion = release(n.KubeletVersion)
	n.BootID = a.pseudonym(realName{"boot", "", n.BootID})
	n.Labels = a.nodeLabels(n.Labels)
	n.ProviderID = a.providerID(n.ProviderID)
	n.Lifecycle = mapSlice(n.Lifecycle, func(c event.LifecycleCondition) event.LifecycleCondition {
		if !c.Type.Known() {
			c.Type = other
		}
		c.Reason = kubernetesReasons.orOther(c.Reason)
		return c
	})
	return &n
}

// lease uses the pseudonym of the node, because a Lease has the same name as its node.
func (a *Anonymiser) lease(l event.Lease) *event.Lease {
	l.Meta = event.Meta{UID: a.uid(l.UID), Namespace: a.namespaceName(l.Namespace), Name: a.nodeName(l.Name)}
	return &l
}

func (a *Anonymiser) controlPlaneLease(l event.ControlPlaneLease) *event.ControlPlaneLease {
	l.Meta = event.Meta{UID: a.uid(l.UID), Namespace: a.namespaceName(l.Namespace), Name: a.controlPlaneLeaseName(l.Name)}
	l.Holder = a.pseudonym(realName{"holder", "", l.Holder})
	l.Host = a.nodeName(l.Host) // an API server's host is often a node
	return &l
}

func (a *Anonymiser) pod(p event.Pod) *event.Pod {
	namespace := p.Namespace
	p.Meta = a.meta("pod", p.Meta)
	p.Node = a.nodeName(p.Node)
	p.Phase = podPhases.orOther(p.Phase)
	p.Reason = kubernetesReasons.orOther(p.Reason)
	p.Ready = a.condition(namespace, p.Ready)
	p.Disruption = kubernetesReasons.orOther(p.Disruption)
	p.GatesNotReady = mapSlice(p.GatesNotReady, func(gate string) string { return a.pseudonym(realName{"gate", "", gate}) })
	p.Owner = a.ownerName(namespace, p.Owner)
	p.Containers = mapSlice(p.Containers, func(c event.Container) event.Container {
		c.Name = a.containerName(namespace, c.Name)
		c.Image = a.pseudonym(realName{"image", "", c.Image})
		c.ID = a.pseudonym(realName{"id", "", c.ID})
		c.State = containerStates.orOther(c.State)
		return c
	})
	if p.ControllerManager != nil {
		manager := *p.ControllerManager // keep its flags, which are numbers
		manager.Version = release(manager.Version)
		p.ControllerManager = &manager
	}
	p.Labels = a.labels(p.Labels)
	return &p
}

func (a *Anonymiser) service(s event.Service) *event.Service {
	s.Meta = a.serviceMeta(s.Meta)
	s.Type = serviceTypes.orOther(s.Type)
	s.Selector = a.labels(s.Selector)
	return &s
}

func (a *Anonymiser) slice(s event.EndpointSlice) *event.EndpointSlice {
	s.Service = a.serviceName(s.Namespace, s.Service)
	s.Meta = a.meta("slice", s.Meta)
	s.Owner = a.uid(s.Owner)
	s.ManagedBy = a.managerName(s.ManagedBy)
	s.Writer = a.managerName(s.Writer)
	s.OtherWriter = a.managerName(s.OtherWriter)
	s.Addresses = mapSlice(s.Addresses, a.address)
	return &s
}

func (a *Anonymiser) endpoints(e event.Endpoints) *event.Endpoints {
	e.Meta = a.serviceMeta(e.Meta)
	e.ManagedBy = a.managerName(e.ManagedBy)
	e.Writer = a.managerName(e.Writer)
	e.OtherWriter = a.managerName(e.OtherWriter)
	e.Addresses = mapSlice(e.Addresses, a.address)
	return &e
}

func (a *Anonymiser) cluster(c event.Cluster) *event.Cluster {
	c.Meta = a.meta("cluster", c.Meta)
	c.Version = release(c.Version)
	return &c
}

func (a *Anonymiser) meta(noun string, m event.Meta) event.Meta {
	return event.Meta{
		UID:       a.uid(m.UID),
		Namespace: a.namespaceName(m.Namespace),
		Name:      a.pseudonym(realName{noun, m.Namespace, m.Name}),
	}
}

// serviceMeta replaces the metadata of a Service or its Endpoints. Both have the same name.
func (a *Anonymiser) serviceMeta(m event.Meta) event.Meta {
	return event.Meta{
		UID:       a.uid(m.UID),
		Namespace: a.namespaceName(m.Namespace),
		Name:      a.serviceName(m.Namespace, m.Name),
	}
}

func (a *Anonymiser) condition(namespace string, original *event.Condition) *event.Condition {
	if original == nil {
		return nil
	}
	c := *original
	c.Reason = kubernetesReasons.orOther(c.Reason)
	c.Message = a.message(namespace, c.Message)
	c.Writer = a.managerName(c.Writer)
	return &c
}

// address replaces the IP, node and UID of an address. If event.AddressUID derived the UID from the IP, the new UID is
// derived from the new IP.
func (a *Anonymiser) address(original event.Address) event.Address {
	replaced := original
	replaced.IP = a.ip(original.IP)
	replaced.Node = a.nodeName(original.Node)
	if original.UID == event.AddressUID(original.IP) {
		replaced.UID = event.AddressUID(replaced.IP)
	} else {
		replaced.UID = a.uid(original.UID)
	}
	return replaced
}
