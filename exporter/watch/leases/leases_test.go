package leases

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// TestRead covers successful reads. The tests of exporter/watch cover failures in virtual time.
func TestRead(t *testing.T) {
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"
	for _, c := range []struct{ name, failed, readyz, want string }{
		{"all Leases are read", "", "", "asking, read a, read b, answered"},
		{"one is refused", "b", "[+]ping ok\n", "asking, read a, answered forbidden"},
		{"one is refused, and etcd is not ready", "b", "[+]ping ok\n[-]poststarthook/x failed: y\n[-]etcd failed: reason withheld\n", "asking, read a, answered etcd not ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				name, isLease := strings.CutPrefix(r.URL.Path, leases)
				switch {
				case !isLease:
					fmt.Fprint(w, c.readyz)
				case name == c.failed:
					w.WriteHeader(http.StatusForbidden)
				default:
					w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
					lease := &coordinationv1.Lease{
						TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
						ObjectMeta: metav1.ObjectMeta{Name: name},
					}
					_ = protobuf.NewSerializer(nil, nil).Encode(lease, w)
				}
			}))
			defer server.Close()
			client, err := apiclient.New(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			resources := client.Resources("")
			of := slices.IndexFunc(resources, func(r apiclient.Resource) bool { return r.Kind == event.KindLease })
			var got []string
			NewReader(client, resources[of], func(e event.Event) {
				text := strings.TrimSpace(e.Type.String() + " " + string(e.Reason))
				if e.Object != nil {
					text += " " + e.Object.Metadata().Name
				}
				got = append(got, text)
			}).Read(t.Context(), []string{"a", "b"})
			slices.Sort(got[1 : len(got)-1]) // the Leases arrive in any order
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("got %s\nwant %s", text, c.want)
			}
		})
	}
}
