package recording

import "testing"

func TestMessagesOfEvictionsKeepTheWordsOfKubernetes(t *testing.T) {
	for message, want := range map[string]string{
		"The node was low on resource: memory. Threshold quantity: 100Mi, available: 97300Ki. Container app was using 1Gi, request is 0, has larger consumption of memory. ": "The node was low on resource: memory. Threshold quantity: 100Mi, available: 97300Ki.",
		"The node had condition: [DiskPressure]. ":                           "The node had condition: [DiskPressure].",
		`Usage of EmptyDir volume "cache" exceeds the limit "1Gi". `:         "Usage of EmptyDir volume",
		"Container app exceeded its local ephemeral storage limit \"1Gi\". ": "exceeded its local ephemeral storage limit",
		"our-scheduler: preempting to accommodate a higher priority pod":     "preempting to accommodate a higher priority pod",
		"Taint manager: deleting due to NoExecute taint":                     "Taint manager: deleting due to NoExecute taint",
		"acme: deleted web-1 of customer 7":                                  "",
		"The node was low on resource: acme.example/gpu. ":                   "",
	} {
		if got := withoutNames(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
