package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Incident is one as kubeflap's API tells it.
type Incident struct {
	ID         string       `json:"id"`
	State      string       `json:"state"`
	Scope      string       `json:"scope"`
	Cause      string       `json:"cause"`
	Verdict    string       `json:"verdict"`
	Namespace  string       `json:"namespace"`
	Subject    string       `json:"subject"`
	Summary    string       `json:"summary"`
	Remedy     string       `json:"remedy"`
	Considered []Considered `json:"considered"`
}

// Considered is a hypothesis that was weighed, and the fact that decided.
type Considered struct {
	Verdict string `json:"verdict"`
	Holds   string `json:"holds"`
	Because string `json:"because"`
}

// Because are the facts that decided for the verdict: of the hypothesis that holds, or of all those that may hold where nothing is decided.
func (x Incident) Because() string {
	var all []string
	for _, c := range x.Considered {
		if c.Verdict == x.Verdict && c.Holds == "yes" || x.Verdict == "undecided" && c.Holds == "unknown" {
			all = append(all, c.Because)
		}
	}
	return strings.Join(all, "; ")
}

// Told is what kubeflap's API tells of the incidents, and of what it could not see.
type Told struct {
	Incidents []Incident `json:"incidents"`
	Coverage  struct {
		// NotWatched names resources; what else it says of each is not looked at.
		NotWatched json.RawMessage `json:"not_watched"`
	} `json:"coverage"`
}

// Incidents asks the kubeflap at a URL.
func Incidents(ctx context.Context, url string) (told Told, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/incidents", nil)
	if err != nil {
		return told, fmt.Errorf("ask for the incidents: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return told, fmt.Errorf("ask for the incidents: %w", err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		return told, fmt.Errorf("read the incidents: %w", err)
	}
	return told, nil
}
