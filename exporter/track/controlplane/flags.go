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

// Flags appends the flags that are set in kube-controller-manager pods to the given slice and returns the extended
// slice. If the pods set a flag to different values, Flags uses the smallest value, because any pod can become the
// leader.
func (g *GracePeriod) Flags(into []Flag) []Flag {
	var least event.ControllerManagerFlags
	for _, m := range g.managers {
		if m.Flags == nil {
			continue
		}
		for i, flag := range m.Flags.All() {
			if v, so := *flag.Value, least.All()[i].Value; v != nil && (*so == nil || *v < **so) {
				*so = v
			}
		}
	}
	for _, flag := range least.All() {
		switch v := *flag.Value; {
		case v == nil:
		case flag.IsDuration():
			into = append(into, Flag{flag.Name, *v / float64(time.Second)})
		default:
			into = append(into, Flag{flag.Name, *v})
		}
	}
	return into
}
