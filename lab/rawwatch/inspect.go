package rawwatch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// inspect returns the type of a watch event and the resourceVersion of its object. The result end is true for the
// bookmark that ends a streamed list.
func inspect(frame []byte) (kind, version string, end bool, err error) {
	event := &metav1.WatchEvent{}
	if err := event.Unmarshal(frame); err != nil {
		return "", "", false, fmt.Errorf("read a watch event: %w", err)
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil)
	if err != nil {
		return "", "", false, fmt.Errorf("read the object of a watch event: %w", err)
	}
	if status, ok := object.(*metav1.Status); ok {
		return "", "", false, fmt.Errorf("the API server sent an error: %s", status.Message)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", "", false, fmt.Errorf("read the object of a watch event: %w", err)
	}
	end = accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	return event.Type, accessor.GetResourceVersion(), end, nil
}

// listVersion returns the resourceVersion of a list.
func listVersion(text []byte) (string, error) {
	list, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return "", fmt.Errorf("read a list: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return "", fmt.Errorf("read a list: %w", err)
	}
	return accessor.GetResourceVersion(), nil
}
