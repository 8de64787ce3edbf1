package event

import "fmt"

var kindTexts = [...]string{
	KindNode: "nodes", KindLease: "leases", KindPod: "pods", KindService: "services",
	KindEndpointSlice: "endpointslices", KindEndpoints: "endpoints", KindCluster: "cluster",
	KindControlPlaneLease: "controlplaneleases", KindDeployment: "deployments", KindStatefulSet: "statefulsets",
}

var typeTexts = [...]string{
	Added: "added", Modified: "modified", Deleted: "deleted", Bookmark: "bookmark",
	Listing: "listing", Listed: "listed", Synced: "synced",
	Up: "up", Down: "down", Unavailable: "unavailable",
	DirectReadStarted: "asking", DirectReadLease: "read", DirectReadAnswered: "answered", DirectReadUnanswered: "unanswered",
}

var statusTexts = [...]string{StatusUnknown: "unknown", StatusTrue: "true", StatusFalse: "false"}

func textOf[T ~uint8](texts []string, value T) string {
	if int(value) >= len(texts) || texts[value] == "" {
		return fmt.Sprintf("invalid(%d)", value)
	}
	return texts[value]
}

func parseText[T ~uint8](texts []string, what string, text []byte, value *T) error {
	for i, t := range texts {
		if t != "" && t == string(text) {
			*value = T(i)
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q", what, text)
}

// MarshalText returns the kind's name in recordings.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the text that MarshalText returns. It returns an error for any other text.
func (k *Kind) UnmarshalText(text []byte) error {
	return parseText(kindTexts[:], "kind", text, k)
}

// MarshalText returns the type's name in recordings.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the text that MarshalText returns. It returns an error for any other text.
func (t *Type) UnmarshalText(text []byte) error {
	return parseText(typeTexts[:], "event type", text, t)
}

// MarshalText returns the status's name in recordings.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text that MarshalText returns. It returns an error for any other text.
func (s *Status) UnmarshalText(text []byte) error {
	return parseText(statusTexts[:], "status", text, s)
}
