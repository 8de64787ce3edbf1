package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Incident is one as kubeflap's API tells it.
type Incident struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Scope   string `json:"scope"`
	Cause   string `json:"cause"`
	Verdict string `json:"verdict"`
	// Considered are the hypotheses, with the fact that decides each.
	Considered []struct {
		Verdict, Holds, Because string
	} `json:"considered"`
	Namespace string `json:"namespace"`
	Subject   string `json:"subject"`
	Summary   string `json:"summary"`
	Remedy    string `json:"remedy"`
}

// Because is the fact that decides for the verdict, empty if none does.
func (x Incident) Because() string {
	for _, c := range x.Considered {
		if c.Verdict == x.Verdict && c.Holds == "yes" {
			return c.Because
		}
	}
	return ""
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
