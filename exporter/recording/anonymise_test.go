package recording

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// disguises are texts that the Anonymiser partly keeps. It must still replace a real name in such a text.
var disguises = []string{
	"%s", "ReplicaSet/%s", "Node/%s", "%s/web", "Acme%s/web",
	"v1.36.3-%s", "v%s", "1.2.%s",
	"containers with unready status: [%s], containers with unknown status: [web %s]",
	"containers with %s status: [web]", "containers with unready status: [web] %s", "kubelet is posting ready status. %s",
	"topology.kubernetes.io/%s", "karpenter.sh/%s", "app.kubernetes.io/%s", "aws://%s", "gce:///%s/zone/machine", "apiserver-%s",
	"kube-controller-manager%s", "ToBeDeletedBy%s", "v1.36.3-eks-%s", "v1.36.3-gke.%s", "Drained%s",
	"node.kubernetes.io/%s", "node-role.kubernetes.io/%s", "kubectl-%s", "kube-%s",
	"containerd://%s", "registry.example/%s:v1", "%s.example", "fe80::1%%%s", "Error: %s",
}

func TestNoRealNameSurvives(t *testing.T) {
	for _, disguise := range disguises {
		random := filler{Rand: rand.New(rand.NewPCG(5, 6)), full: true, zone: time.UTC}
		var planted []string
		random.text = func() string {
			const letters = "ghijklmnopqrstuvwxyz" // names contain no hexadecimal digits, so that no UID contains a name by chance
			name := make([]byte, 12)
			for i := range name {
				name[i] = letters[random.IntN(len(letters))]
			}
			planted = append(planted, string(name))
			return strings.ReplaceAll(disguise, "%s", string(name))
		}
		anonymiser := NewAnonymiser()
		for _, ev := range random.everything() {
			before := encoded(t, ev)
			text := encoded(t, anonymiser.Event(ev))
			for _, name := range planted {
				if strings.Contains(text, name) {
					t.Errorf("%q in disguise %q survived in %s", name, disguise, text)
				}
			}
			if encoded(t, ev) != before {
				t.Errorf("the event itself was changed: %s", before)
			}
		}
	}
}

func TestNoUIDOrAddressSurvives(t *testing.T) {
	for _, form := range []string{"203.0.%d.%d", "2001:db8::%x:%x", "::ffff:203.0.%d.%d", "%08x-1234-1234-1234-%012x"} {
		random := filler{Rand: rand.New(rand.NewPCG(7, 8)), full: true, zone: time.UTC}
		var planted []string
		random.text = func() string {
			planted = append(planted, fmt.Sprintf(form, 100+random.IntN(100), 100+random.IntN(100)))
			return planted[len(planted)-1]
		}
		anonymiser := NewAnonymiser()
		for _, ev := range random.everything() {
			text := encoded(t, anonymiser.Event(ev))
			for _, name := range planted {
				if strings.Contains(text, `"`+name+`"`) || strings.Contains(text, event.ParseUID(name).String()) {
					t.Errorf("%s survived in %s", name, text)
				}
			}
		}
	}
}

func encoded(t testing.TB, ev event.Event) string {
	t.Helper()
	var text bytes.Buffer
	w, err := NewWriter(&text, Header{}, false)
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	if err := w.Write(ev); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestAllButNamesStays removes all names from both recordings, and checks that the rest is equal.
func TestAllButNamesStays(t *testing.T) {
	random := filler{Rand: rand.New(rand.NewPCG(9, 10)), full: true, zone: time.UTC}
	random.text = func() string { return fmt.Sprint("name-", random.Int()) }
	anonymiser := NewAnonymiser()
	for _, ev := range random.everything() {
		got := anonymiser.Event(ev)
		if ev.Object == nil {
			continue
		}
		if ev.Object == got.Object {
			t.Fatalf("%v: the object is the event's own", ev.Kind)
		}
		blank(reflect.ValueOf(ev.Object).Elem())
		blank(reflect.ValueOf(got.Object).Elem())
		if !reflect.DeepEqual(ev, got) {
			t.Errorf("want %+v\ngot  %+v", ev.Object, got.Object)
		}
	}
}

func blank(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *time.Time:
		return
	case *event.UID:
		v.SetZero()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			blank(v.Field(i))
		}
	case reflect.String:
		v.SetZero()
	case reflect.Pointer:
		if !v.IsNil() {
			blank(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			blank(v.Index(i))
		}
	case reflect.Map: // compare only the sizes
		v.Set(reflect.ValueOf(map[string]string{fmt.Sprint(v.Len()): ""}))
	}
}

// TestEachTextHasARule compares the rules with the fields of the objects.
func TestEachTextHasARule(t *testing.T) {
	unused := maps.Clone(rules)
	var check func(name string, of reflect.Type)
	check = func(name string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			check(name, of.Elem())
		case reflect.String:
			if delete(unused, name); rules[name] == nil {
				t.Errorf("%s has no rule", name)
			}
		case reflect.Struct:
			for i := 0; i < of.NumField() && of != reflect.TypeFor[event.Address]() && of != reflect.TypeFor[time.Time](); i++ {
				if field := of.Field(i); !field.Anonymous {
					check(of.Name()+"."+field.Name, field.Type)
				}
			}
		}
	}
	for kind := range event.NumKinds {
		if object := event.New(event.Kind(kind)); object != nil {
			check("", reflect.TypeOf(object))
		}
	}
	if len(unused) > 0 {
		t.Errorf("rules of no field: %v", slices.Sorted(maps.Keys(unused)))
	}
}

// pods returns a small cluster: a node, its Lease, a pod, and a Service with its addresses.
func pods() []event.Object {
	pod, service := event.ParseUID("6f9619ff-8b86-4011-b42d-00cf4fc964ff"), event.ParseUID("0d5c2a50-8b86-4011-b42d-00cf4fc964ff")
	meta := func(name string) event.Meta { return event.Meta{Namespace: "shop", Name: name} }
	derived := event.Address{UID: pod, IP: "192.0.2.7", Node: "rack7", Ready: true}
	byHand := event.Address{UID: event.AddressUID("192.0.2.7"), IP: "192.0.2.7", ByHand: true}
	return []event.Object{
		&event.Node{
			Meta: event.Meta{Name: "rack7"}, KubeletVersion: "v1.33.4-acme.7", BootID: "b1",
			Ready: &event.Condition{Status: event.StatusFalse, Reason: "KubeletNotReady", Message: "disk of rack7 is full"},
			Taints: []event.Taint{
				{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"},
				{Key: "acme.example/team", Effect: "NoSchedule"},
			},
		},
		&event.Lease{Meta: event.Meta{Namespace: "kube-node-lease", Name: "rack7"}, DurationSeconds: 40},
		&event.Pod{
			Meta: event.Meta{UID: pod, Namespace: "shop", Name: "till-5d4-x"}, Node: "rack7", Phase: "Running", Reason: "AcmeSays",
			Ready: &event.Condition{
				Status: event.StatusFalse, Reason: "ContainersNotReady",
				Message: "containers with unknown status: [bell], containers with unready status: [drawer bell]",
			},
			GatesNotReady: []string{"acme.example/lb"}, Owner: "ReplicaSet/till-5d4",
			Containers: []event.Container{
				{Name: "drawer", Image: "acme/drawer:1", ID: "containerd://d1", State: "waiting"},
				{Name: "bell", Image: "acme/drawer:1"},
			},
			ControllerManager: &event.ControllerManager{Version: "v1.33.4"},
		},
		&event.Service{Meta: event.Meta{UID: service, Namespace: "shop", Name: "till"}, Type: "ClusterIP", Selector: map[string]string{"tier": "front", "app": "till"}},
		&event.EndpointSlice{
			Meta: meta("till-abc"), Service: "till", Owner: service, ManagedBy: "endpointslice-controller.k8s.io",
			Addresses: []event.Address{derived, byHand, {UID: event.AddressUID("db.acme.example"), IP: "db.acme.example", ByHand: true}},
		},
		&event.Endpoints{Meta: meta("till"), Writer: "kubectl-edit", Addresses: []event.Address{derived}},
		&event.Endpoints{Meta: event.Meta{Namespace: "kube-system", Name: "kube-dns"}, Writer: "kubectl-acme"},
		&event.Endpoints{Meta: event.Meta{Namespace: "default", Name: "till"}},
		&event.Service{Meta: event.Meta{Namespace: "default", Name: "till"}, Selector: map[string]string{"tier": "front"}},
		&event.Pod{Meta: event.Meta{Namespace: "kube-system", Name: "etcd-rack7"}, Owner: "Node/rack7"},
		&event.Pod{Meta: event.Meta{Namespace: "shop", Name: "till-db-0"}, Owner: "AcmeDatabase/till-db"},
		&event.Cluster{Version: "v1.33.4+acme"},
	}
}

// expectAnonymised compares anonymised objects, one per line. The result does not depend on the order of maps.
func expectAnonymised(t *testing.T, objects []event.Object, want string) {
	t.Helper()
	for range 20 {
		var b strings.Builder
		anonymiser := NewAnonymiser()
		for _, o := range objects {
			text := encoded(t, anonymiser.Event(event.Event{Seen: noon, Kind: o.Kind(), Type: event.Listed, Object: o}))
			_, text, _ = strings.Cut(text, `"object":`)
			b.WriteString(strings.TrimSuffix(text, "}\n") + "\n")
		}
		if got := b.String(); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestPseudonymsKeepTheShape(t *testing.T) {
	hand := event.AddressUID("10.0.0.1").String()
	host := event.AddressUID("host-1").String()
	expectAnonymised(t, pods(), `{"name":"node-1","ready":{"status":"false","reason":"KubeletNotReady"},"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoExecute"},{"key":"taint-1","effect":"NoSchedule"}],"kubeletVersion":"v1.33.4","bootID":"boot-1"}
{"namespace":"kube-node-lease","name":"node-1","durationSeconds":40}
{"uid":"00000000-0000-4000-8000-000000000001","namespace":"namespace-1","name":"pod-1","node":"node-1","phase":"Running","reason":"Other","ready":{"status":"false","reason":"ContainersNotReady","message":"containers with unknown status: [container-1], containers with unready status: [container-2 container-1]"},"gatesNotReady":["gate-1"],"owner":"ReplicaSet/replicaset-1","containers":[{"name":"container-2","image":"image-1","id":"id-1","state":"waiting"},{"name":"container-1","image":"image-1"}],"controllerManager":{"version":"v1.33.4"}}
{"uid":"00000000-0000-4000-8000-000000000002","namespace":"namespace-1","name":"service-1","type":"ClusterIP","selector":{"key-1":"value-1","key-2":"value-2"}}
{"namespace":"namespace-1","name":"slice-1","service":"service-1","owner":"00000000-0000-4000-8000-000000000002","managedBy":"endpointslice-controller.k8s.io","addresses":[{"uid":"00000000-0000-4000-8000-000000000001","ip":"10.0.0.1","node":"node-1","ready":true},{"uid":"`+hand+`","ip":"10.0.0.1","byHand":true},{"uid":"`+host+`","ip":"host-1","byHand":true}]}
{"namespace":"namespace-1","name":"service-1","writer":"kubectl-edit","addresses":[{"uid":"00000000-0000-4000-8000-000000000001","ip":"10.0.0.1","node":"node-1","ready":true}]}
{"namespace":"kube-system","name":"kube-dns","writer":"kubectl"}
{"namespace":"default","name":"service-2"}
{"namespace":"default","name":"service-2","selector":{"key-2":"value-2"}}
{"namespace":"kube-system","name":"pod-2","owner":"Node/node-1"}
{"namespace":"namespace-1","name":"pod-3","owner":"Other/owner-1"}
{"name":"","version":"v1.33.4"}
`)
}

func TestPseudonymsOfWhatVerdictsNeed(t *testing.T) {
	expectAnonymised(t, []event.Object{
		&event.Node{
			Meta: event.Meta{Name: "rack7"}, ProviderID: "aws:///eu-west-1a/i-0123", DeletionTimestamp: noon,
			Labels: map[string]string{
				"topology.kubernetes.io/zone": "eu-west-1a", "agentpool": "tills", "kubernetes.azure.com/agentpool": "tills",
				"node.kubernetes.io/instance-type": "m5.large", "nutanix.com/prism-host-name": "rack", "acme.example/row": "tills",
			},
			Taints: []event.Taint{
				{Key: "ToBeDeletedByClusterAutoscaler", Value: "1782907200", Effect: "NoSchedule", Added: noon},
				{Key: "acme.example/drain", Value: "1782907200", Effect: "NoExecute"},
			},
			Lifecycle: []event.LifecycleCondition{
				{Type: "MaintenancePlanned", Status: event.StatusTrue, Reason: "AcmeWindow", LastTransitionTime: noon}, {Type: "AcmeDrain"},
			},
		},
		&event.Node{Meta: event.Meta{Name: "rack8"}, ProviderID: "acme-8", Labels: map[string]string{"topology.kubernetes.io/zone": "eu-west-1b", "agentpool": "tills"}},
		&event.Pod{
			Meta: event.Meta{Namespace: "shop", Name: "till-0"}, Labels: map[string]string{"app": "till", "pod-template-hash": "5d4", "tier": "front"},
			ToleratesNotReady: &event.Toleration{Seconds: 10}, ToleratesUnreachable: &event.Toleration{Forever: true},
		},
		&event.Service{Meta: event.Meta{Namespace: "shop", Name: "till"}, Selector: map[string]string{"app": "till"}},
		&event.Endpoints{Meta: event.Meta{Namespace: "shop", Name: "till"}, LastApplied: true, Writer: "kube-controller-manager", OtherWriter: "acme-operator"},
		&event.EndpointSlice{Meta: event.Meta{Namespace: "shop", Name: "till-x"}, ManagedBy: "lighthouse-agent.submariner.io", Writer: "acme-operator"},
		&event.ControlPlaneLease{Meta: event.Meta{Namespace: "kube-system", Name: "kube-controller-manager"}, Holder: "rack7_5a2c", RenewTime: noon},
		&event.ControlPlaneLease{Meta: event.Meta{Namespace: "kube-system", Name: "apiserver-q4x"}, Holder: "apiserver-q4x_77", Host: "rack7"},
		&event.ControlPlaneLease{Meta: event.Meta{Namespace: "kube-system", Name: "acme"}, Holder: "rack7_5a2c"},
	}, `{"name":"node-1","taints":[{"key":"ToBeDeletedByClusterAutoscaler","value":"value-1","effect":"NoSchedule","added":"2026-03-01T12:00:00Z"},{"key":"taint-1","value":"value-1","effect":"NoExecute"}],"labels":{"agentpool":"node-pool-1","key-1":"value-2","kubernetes.azure.com/agentpool":"node-pool-1","node.kubernetes.io/instance-type":"instance-type-1","nutanix.com/prism-host-name":"host-1","topology.kubernetes.io/zone":"zone-1"},"providerID":"aws://machine-1","deletion":"2026-03-01T12:00:00Z","lifecycle":[{"type":"MaintenancePlanned","status":"true","reason":"Other","transition":"2026-03-01T12:00:00Z"},{"type":"Other"}]}
{"name":"node-2","labels":{"agentpool":"node-pool-1","topology.kubernetes.io/zone":"zone-2"},"providerID":"machine-2"}
{"namespace":"namespace-1","name":"pod-1","labels":{"key-2":"value-3","key-3":"value-5","pod-template-hash":"value-4"},"toleratesNotReady":{"seconds":10},"toleratesUnreachable":{"forever":true}}
{"namespace":"namespace-1","name":"service-1","selector":{"key-2":"value-3"}}
{"namespace":"namespace-1","name":"service-1","writer":"kube-controller-manager","lastApplied":true,"otherWriter":"manager-1"}
{"namespace":"namespace-1","name":"slice-1","managedBy":"lighthouse-agent.submariner.io","writer":"manager-1"}
{"namespace":"kube-system","name":"kube-controller-manager","renew":"2026-03-01T12:00:00Z","holder":"holder-1"}
{"namespace":"kube-system","name":"apiserver-1","holder":"holder-2","host":"node-1"}
{"namespace":"kube-system","name":"lease-1","holder":"holder-1"}
`)
}

func TestWorkloadsFitTheirPods(t *testing.T) {
	anonymiser := NewAnonymiser()
	anonymise := func(o event.Object) event.Object {
		return anonymiser.Event(event.Event{Seen: noon, Kind: o.Kind(), Type: event.Listed, Object: o}).Object
	}
	web := anonymise(&event.Workload{
		Meta: event.Meta{Namespace: "shop", Name: "web"}, Resource: event.KindDeployment, Replicas: 3, Selector: map[string]string{"app": "web"}, Generation: 7,
	}).(*event.Workload)
	db := anonymise(&event.Workload{
		Meta: event.Meta{Namespace: "shop", Name: "db"}, Resource: event.KindStatefulSet, UpdateRevision: "db-6c9",
	}).(*event.Workload)
	pod := func(owner string, labels map[string]string) *event.Pod {
		return anonymise(&event.Pod{Meta: event.Meta{Namespace: "shop", Name: "pod"}, Owner: owner, Labels: labels}).(*event.Pod)
	}
	first := pod("ReplicaSet/web-5d4", map[string]string{"app": "web", "pod-template-hash": "5d4"})
	second := pod("ReplicaSet/web-77b", map[string]string{"app": "web", "pod-template-hash": "77b"})
	for _, p := range []*event.Pod{first, second} {
		if w, ok := p.Workload(); !ok || w != (event.WorkloadName{Kind: "Deployment", Namespace: web.Namespace, Name: web.Name}) {
			t.Errorf("%+v is of %+v, not of %+v", p, w, web)
		}
		for name, value := range web.Selector {
			if p.Labels[name] != value {
				t.Errorf("the Deployment %+v does not select %+v", web, p)
			}
		}
	}
	if first.Owner == second.Owner || web.Name != "deployment-1" || web.Replicas != 3 || web.Generation != 7 {
		t.Errorf("%s and %s of %+v", first.Owner, second.Owner, web)
	}
	p := pod("StatefulSet/db", map[string]string{"controller-revision-hash": "db-6c9"})
	if w, _ := p.Workload(); w != (event.WorkloadName{Kind: "StatefulSet", Namespace: db.Namespace, Name: db.Name}) || p.Labels["controller-revision-hash"] != db.UpdateRevision {
		t.Errorf("%+v does not belong to %+v", p, db)
	}
}

func TestHeaderIsAnonymisedToo(t *testing.T) {
	got := NewAnonymiser().Header(Header{Recorded: noon, Kubernetes: "v1.36.3-acme", Title: "Acme is down", Head: []byte(`{"id":"acme"}`), State: 3})
	if want := (Header{Recorded: noon, Kubernetes: "v1.36.3", Anonymised: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestReasonOfAWatchIsKeptIfItIsKnown(t *testing.T) {
	for text, want := range map[event.Reason]event.Reason{"": "", "connection lost": "connection lost", "etcd not ready": "etcd not ready", "log not ready": "Other", "dial tcp 192.0.2.1:6443: refused": "Other"} {
		ev := NewAnonymiser().Event(event.Event{Seen: noon, Kind: event.KindPod, Type: event.Down, Reason: text})
		if ev.Reason != want {
			t.Errorf("%q became %q", text, ev.Reason)
		}
	}
}

func TestVersionKeepsItsNumbersOnly(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "v1.36.3": "v1.36.3", "1.36.3": "1.36.3", "v1.31.0+k3s1": "v1.31.0", "v1.34.0-alpha.1": "v1.34.0",
		"v1.33.4-eks-1234567": "v1.33.4-eks-0", "v1.33.4-gke.1036000": "v1.33.4-gke.0", "v1.33.4-eksy": "v1.33.4", "-eks-1": "",
		"v1.x": "v1", "192.0.2.7": "192.0.2", "latest": "", "very-old": "",
	} {
		if got := release(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
