package listing

import (
	"strings"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// NotWatched returns a warning for each resource that kubeflap does not watch. Incidents that depend on this resource
// may be missing.
func NotWatched(c *api.Coverage) (all []string) {
	for _, x := range c.NotWatched {
		text := "Warning: kubeflap does not watch " + strings.TrimSpace(x.Cluster+" "+x.Resource)
		if x.Since != nil {
			text += " since " + moment(*x.Since)
		}
		all = append(all, printable.Line(text+" ("+x.Reason+"), so incidents may be missing."))
	}
	return all
}

// Missing returns a warning for each reason why older incidents are missing from the response.
func Missing(c *api.Coverage) (all []string) {
	if c.IncidentsLostUntil != nil {
		all = append(all, "Warning: incidents until "+moment(*c.IncidentsLostUntil)+" may be missing, because kubeflap's file incidents.jsonl was damaged, deleted or unreadable. "+
			"To see what was recorded, run kubeflap incidents with its --data.dir directory.")
	}
	if c.IncidentsDropped > 0 && c.IncidentsDroppedUntil != nil {
		all = append(all, "Warning: kubeflap has dropped "+phrase.Count(c.IncidentsDropped, "older incident", "older incidents")+
			" (--incidents.size). All incidents that were ongoing after "+moment(*c.IncidentsDroppedUntil)+" are kept.")
	}
	return all
}
