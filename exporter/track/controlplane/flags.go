package controlplane

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Flag is a kube-controller-manager flag and its value. Durations are in seconds.
type Flag struct {
	Name  string
	Value float64
}

// `flags` lists the kube-controller-manager flags that GracePeriod.Flags can return.
var flags = []struct {
	name  string
	value func(*event.ControllerManagerFlags) *float64
}{
	{"node-monitor-period", func(f *event.ControllerManagerFlags) *float64 { return inSeconds(f.MonitorPeriod) }},
	{"kube-api-qps", func(f *event.ControllerManagerFlags) *float64 { return f.QPS }},
	{"kube-api-burst", func(f *event.ControllerManagerFlags) *float64 { return number(f.Burst) }},
	{"concurrent-endpoint-syncs", func(f *event.ControllerManagerFlags) *float64 { return number(f.EndpointSyncs) }},
	{"concurrent-service-endpoint-syncs", func(f *event.ControllerManagerFlags) *float64 { return number(f.EndpointSliceSyncs) }},
	{"endpoint-updates-batch-period", func(f *event.ControllerManagerFlags) *float64 { return inSeconds(f.EndpointBatch) }},
	{"endpointslice-updates-batch-period", func(f *event.ControllerManagerFlags) *float64 { return inSeconds(f.EndpointSliceBatch) }},
	{"node-eviction-rate", func(f *event.ControllerManagerFlags) *float64 { return f.EvictionRate }},
	{"secondary-node-eviction-rate", func(f *event.ControllerManagerFlags) *float64 { return f.SecondaryEvictionRate }},
	{"unhealthy-zone-threshold", func(f *event.ControllerManagerFlags) *float64 { return f.UnhealthyZoneThreshold }},
}

func inSeconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Seconds()
	return &s
}

func number(n *int32) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// Flags appends the flags that are set in kube-controller-manager pods to the given slice and returns the extended
// slice. If the pods set a flag to different values, Flags uses the smallest value, because any pod can become the
// leader.
func (g *GracePeriod) Flags(into []Flag) []Flag {
	for _, flag := range flags {
		var least *float64
		for _, m := range g.managers {
			if m.Flags == nil {
				continue
			}
			if v := flag.value(m.Flags); v != nil && (least == nil || *v < *least) {
				least = v
			}
		}
		if least != nil {
			into = append(into, Flag{flag.name, *least})
		}
	}
	return into
}
