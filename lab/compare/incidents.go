package compare

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// Incident is an incident in kubeflap's API.
type Incident struct {
	ID         string       `json:"id"`
	Also       []string     `json:"also"`
	State      string       `json:"state"`
	Scope      string       `json:"scope"`
	Cause      string       `json:"cause"`
	Verdict    string       `json:"verdict"`
	Namespace  string       `json:"namespace"`
	Subject    string       `json:"subject"`
	Summary    string       `json:"summary"`
	Remedy     string       `json:"remedy"`
	WaitsFor   string       `json:"waits_for"`
	Considered []Considered `json:"considered"`
}

// Considered is a hypothesis about an incident. Its field Because is the fact that decides whether the hypothesis
// holds.
type Considered struct {
	Verdict string `json:"verdict"`
	Holds   string `json:"holds"`
	Because string `json:"because"`
}

// Because returns the facts that decide the verdict. If the verdict is undecided, it returns the facts of all
// hypotheses that may still hold.
func (x Incident) Because() string {
	var all []string
	for _, c := range x.Considered {
		if c.Verdict == x.Verdict && c.Holds == "yes" || x.Verdict == "undecided" && c.Holds == "unknown" {
			all = append(all, c.Because)
		}
	}
	return strings.Join(all, "; ")
}

// Answer is the response of kubeflap's API to a request for incidents.
type Answer struct {
	Incidents []Incident `json:"incidents"`
	Coverage  struct {
		// NotWatched is JSON with the names of the resources that kubeflap did not watch.
		NotWatched json.RawMessage `json:"not_watched"`
	} `json:"coverage"`
}

// Incidents requests all incidents from the kubeflap at the given URL.
func Incidents(ctx context.Context, url string) (reported Answer) {
	steps.Must(fetch.JSON(ctx, url+"/api/v1/incidents", &reported))
	return reported
}
