package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// sortServices sorts the affected Services, longest outage first.
func sortServices(all []incident.Service) {
	slices.SortFunc(all, func(a, b incident.Service) int {
		return cmp.Or(cmp.Compare(b.OutageTime, a.OutageTime), cmp.Compare(b.Lost, a.Lost),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// lossText describes the effect on Services as a clause of the summary. sortServices must have sorted the Services,
// because the clause mentions the longest outage. The clause is empty if no Service lost a ready address.
func lossText(x *incident.Incident) string {
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
