package main

import "fmt"

// Size is the number of objects of each kind in a cluster.
type Size struct {
	Name                  string
	Nodes, Pods, Services int
}

// Sizes returns the predefined sizes.
func Sizes() []Size {
	return []Size{
		{Name: "small", Nodes: 100, Pods: 3_000, Services: 200},
		{Name: "medium", Nodes: 1_000, Pods: 30_000, Services: 2_000},
		{Name: "large", Nodes: 5_000, Pods: 150_000, Services: 10_000},
	}
}

func (s Size) String() string {
	return fmt.Sprintf("%s nodes, %s pods, %s Services", count(float64(s.Nodes)), count(float64(s.Pods)), count(float64(s.Services)))
}

// perService returns the number of pods of each Service.
func (s Size) perService() int { return max(1, s.Pods/max(1, s.Services)) }

// zones is the number of zones over which the nodes are distributed.
const zones = 3

// servicesPerNamespace is typical of clusters with one namespace per team.
const servicesPerNamespace = 20

func (s Size) namespaces() int { return (s.Services + servicesPerNamespace - 1) / servicesPerNamespace }
