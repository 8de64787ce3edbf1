package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// MaxNodes and MaxServices are the maximum lengths of an incident's lists of nodes and Services.
const (
	MaxNodes    = 100
	MaxServices = 50
)

// SortServices sorts the affected Services, longest outage first.
func SortServices(all []Service) {
	slices.SortFunc(all, func(a, b Service) int {
		return cmp.Or(cmp.Compare(b.OutageTime, a.OutageTime), cmp.Compare(b.Lost, a.Lost),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// Sentence returns the summary. It joins Happened, the given effect on Services, and the number of evicted pods.
func (x *Incident) Sentence(effect string) string {
	s := x.Happened + "; " + effect
	if x.Evicted > 0 {
		s += "; " + phrase.Count(x.Evicted, "pod was", "pods were") + " evicted"
	}
	return s + "."
}

// LossText describes the effect on Services as a clause of the summary. SortServices must have sorted the Services,
// because the clause mentions the longest outage. The clause is empty if no Service lost a ready address.
func (x *Incident) LossText() string {
	if x.Lost == 0 && x.Outages == 0 || len(x.Services) == 0 {
		return ""
	}
	services := fmt.Sprintf("%d Services", len(x.Services)+x.ServicesLeftOut)
	worst, whose := x.Services[0], ""
	if name := worst.Namespace + "/" + worst.Name; len(x.Services)+x.ServicesLeftOut == 1 {
		services = name
	} else {
		whose = name + " "
	}
	s := services + " lost " + phrase.Count(x.Lost, "ready address", "ready addresses")
	lasted := phrase.Duration(worst.OutageTime)
	if worst.Inexact {
		lasted = "about " + lasted
	}
	switch {
	case x.Outages == 0:
		return s
	case worst.Down:
		return s + " and " + whose + "has had none for " + lasted
	}
	return s + " and " + whose + "had none for " + lasted
}
