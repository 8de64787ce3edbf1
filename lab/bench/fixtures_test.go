package bench

import (
	"log/slog"
	"maps"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// TestFixtures fills one cluster through the API server, and another with fixtures. A client must not find any
// difference.
func TestFixtures(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	size := Size{Name: "tiny", Nodes: 14, Pods: 60, Services: 6}
	written, err := cluster.Start(t.Context(), clusterOptions(log, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer written.Stop()
	f, err := newFilling(t.Context(), size, written.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.to(t.Context(), size); err != nil {
		t.Fatal(err)
	}
	data, err := Options{Cache: t.TempDir(), Log: log}.populated(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	fixture, err := cluster.Start(t.Context(), clusterOptions(log, data))
	if err != nil {
		t.Fatal(err)
	}
	defer fixture.Stop()
	want, is := contents(t, written), contents(t, fixture)
	for key := range want {
		if is[key] != want[key] {
			t.Errorf("%s was stored as\n%s\nbut its fixture is\n%s", key, want[key], is[key])
		}
	}
	if len(is) != len(want) {
		t.Errorf("got %d objects, want %d", len(is), len(want))
	}
}

// contents returns all objects of the kinds that the bench writes, as JSON by kind and name. It removes values that
// differ between any two clusters.
func contents(t *testing.T, c *cluster.Cluster) map[string]string {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	texts, uids := map[string]string{}, []string{}
	for _, resource := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("nodes"), corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithResource("services"), corev1.SchemeGroupVersion.WithResource("endpoints"),
		coordinationv1.SchemeGroupVersion.WithResource("leases"), discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		networkingv1.SchemeGroupVersion.WithResource("ipaddresses"),
	} {
		list, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			key := resource.Resource + " " + object.GetNamespace() + "/" + object.GetName()
			uids = append(uids, string(object.GetUID()), "the uid of "+key)
			texts[key] = withoutTimes(t, &object)
		}
	}
	named := strings.NewReplacer(uids...)
	for key, text := range texts {
		texts[key] = named.Replace(text)
	}
	// The API server creates these objects itself.
	maps.DeleteFunc(texts, func(key, _ string) bool {
		return strings.Contains(key, " kube-system/") || key == "services default/kubernetes" || key == "ipaddresses /10.0.0.1"
	})
	return texts
}

func withoutTimes(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	managed := object.GetManagedFields()
	for i := range managed {
		managed[i].Time = nil
	}
	object.SetManagedFields(managed)
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
