package record

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// copied returns a sorted copy of the nodes, addresses and outages that have not recovered, or nil if there are none.
func (o *Open) copied() *incident.Open {
	if len(o.Nodes)+len(o.Addresses)+len(o.Outages)+len(o.Withdrawn) == 0 {
		return nil
	}
	c := &incident.Open{Nodes: slices.Sorted(maps.Keys(o.Nodes)), Renewed: maps.Clone(o.Nodes), Withdrawn: len(o.Withdrawn) > 0}
	maps.DeleteFunc(c.Renewed, func(_ string, renewed time.Time) bool { return renewed.IsZero() })
	for key := range o.Addresses {
		c.Addresses = append(c.Addresses, incident.OpenAddress{Namespace: key.Service.Namespace, Service: key.Service.Name, ID: key.ID})
	}
	for service, since := range o.Outages {
		c.Outages = append(c.Outages, incident.OpenOutage{Namespace: service.Namespace, Service: service.Name, Since: since})
	}
	slices.SortFunc(c.Addresses, func(a, b incident.OpenAddress) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service), bytes.Compare(a.ID[:], b.ID[:]))
	})
	slices.SortFunc(c.Outages, func(a, b incident.OpenOutage) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service))
	})
	c.Addresses = c.Addresses[:min(len(c.Addresses), incident.MaxOpen)]
	c.Outages = c.Outages[:min(len(c.Outages), incident.MaxOpen)]
	return c
}
