package bench

import (
	"fmt"
	"strings"
)

// Size is how much there is of what kubeflap watches.
type Size struct {
	Name                  string
	Nodes, Pods, Services int
}

// Sizes are those that have a name.
func Sizes() []Size {
	return []Size{
		{Name: "small", Nodes: 100, Pods: 3_000, Services: 200},
		{Name: "medium", Nodes: 1_000, Pods: 30_000, Services: 2_000},
		{Name: "large", Nodes: 5_000, Pods: 150_000, Services: 10_000},
	}
}

// FindSize gives the size of a name.
func FindSize(name string) (Size, error) {
	var names []string
	for _, size := range Sizes() {
		if size.Name == name {
			return size, nil
		}
		names = append(names, size.Name)
	}
	return Size{}, fmt.Errorf("no size is called %q, but %s", name, strings.Join(names, ", "))
}

func (s Size) String() string {
	return fmt.Sprintf("%d nodes, %d pods, %d Services", s.Nodes, s.Pods, s.Services)
}

// perService is how many pods, and so addresses, a Service has.
func (s Size) perService() int { return max(1, s.Pods/max(1, s.Services)) }

// zones are what the nodes are spread over.
const zones = 3

// servicesPerNamespace is as in clusters with a namespace for each team.
const servicesPerNamespace = 20

func (s Size) namespaces() int { return (s.Services + servicesPerNamespace - 1) / servicesPerNamespace }
