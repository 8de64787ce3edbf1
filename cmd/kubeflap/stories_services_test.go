package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func (s *fakeCluster) web() *fakeService { return s.services[0] }

// storiesOfServices returns stories about addresses that are lost while all nodes are healthy.
func storiesOfServices() []scenario {
	return []scenario{
		{
			name: "readiness probes fail in all pods of a Deployment",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i, p := range c.web().pods {
					c.at(300+float64(i)/2, func() { p.setReady(c, false, "ContainersNotReady") })
					c.at(400+float64(i)/2, func() { p.setReady(c, true, "") })
				}
				return c
			},
			expected: []expectation{{310, "workload shop/Deployment/web"}, {600, "workload shop/Deployment/web"}},
		},
		{
			name: "a container exits again and again",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for _, at := range []float64{300, 340, 380} {
					c.at(at, func() { c.web().pods[0].restart(c) })
				}
				return c
			},
			expected: []expectation{{310, "workload shop/Deployment/web"}, {600, "workload shop/Deployment/web"}},
		},
		{
			name: "a Deployment is rolled out",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i, p := range c.web().pods {
					c.at(300+10*float64(i), func() { c.web().replace(c, p) })
					c.at(309.5+10*float64(i), func() { p.stop(c, "") })
				}
				return c
			},
			expected: []expectation{{350, ""}, {600, ""}},
		},
		{
			name: "somebody changes the selector of a Service",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				v := c.web()
				return c.at(300, func() {
					v.Selector = map[string]string{"app": "wbe"}
					c.sendToWatch(event.Modified, &v.Service)
					v.slice.Addresses, v.endpoints.Addresses = nil, nil
					c.after(30*time.Millisecond, func() { c.sendToWatch(event.Modified, &v.endpoints); c.sendToWatch(event.Modified, &v.slice) })
				})
			},
			expected: []expectation{{330, "service_spec shop/web"}, {600, "service_spec shop/web"}},
		},
		{
			name: "the second post: manual Endpoints of a Service with a selector are overwritten after each apply",
			cluster: func() *fakeCluster {
				c := newFakeCluster(3)
				v := c.manual("kube-scheduler", true)
				return c.write(60, v, "192.168.10.1", "192.168.10.2", "192.168.10.3").overwrite(60+7*60, v).write(900, v, "192.168.10.1", "192.168.10.2", "192.168.10.3").overwrite(900+9*60, v)
			},
			expected: []expectation{{70, "endpoints_controller shop/kube-scheduler"}, {490, "endpoints_controller shop/kube-scheduler"}, {1500, "endpoints_controller shop/kube-scheduler"}},
			evidence: []string{"Remove the selector of Service shop/kube-scheduler"},
			advice:   "selector_conflict kube-scheduler",
		},
		{
			name: "manual Endpoints were overwritten before kubeflap was started",
			cluster: func() *fakeCluster {
				c := newFakeCluster(3)
				v := c.manual("kube-scheduler", true)
				v.endpoints.LastApplied, v.endpoints.OtherWriter = true, "kubectl-client-side-apply"
				return c
			},
			expected: []expectation{{30, "endpoints_controller shop/kube-scheduler"}, {300, "endpoints_controller shop/kube-scheduler"}},
			evidence: []string{"they were overwritten before kubeflap saw them"},
			advice:   "selector_conflict kube-scheduler",
		},
		{
			name: "somebody empties the Endpoints of a Service without a selector and writes them again",
			cluster: func() *fakeCluster {
				c := newFakeCluster(3)
				v := c.manual("db", false)
				v.endpoints.Addresses = byHand("192.168.10.1", "192.168.10.2")
				v.endpoints.Writer, v.endpoints.OtherWriter = "backup.sh", "backup.sh"
				return c.write(300, v).write(330, v, "192.168.10.1", "192.168.10.2")
			},
			expected: []expectation{{310, "foreign_writer shop/db"}, {600, "foreign_writer shop/db"}},
			advice:   "endpoints_emptied db",
		},
		{
			name: "a writer keeps a slice beside the selector and takes its address away",
			cluster: func() *fakeCluster {
				c := newFakeCluster(3)
				slice := &event.EndpointSlice{
					Meta: metaOf("slice", "shop", "web-extra"), Service: "web", ManagedBy: "someone.example.com", Writer: "someone",
					Addresses: []event.Address{{UID: c.web().pods[0].UID, IP: c.web().pods[0].ip, Ready: true}, {UID: event.AddressUID("10.9.9.9"), IP: "10.9.9.9", ByHand: true, Ready: true}},
				}
				c.others = append(c.others, slice)
				return c.at(300, func() { slice.Addresses = slice.Addresses[:1]; c.sendToWatch(event.Modified, slice) })
			},
			expected: []expectation{{310, "foreign_writer shop/web"}, {600, "foreign_writer shop/web"}},
			// The Service keeps its other address.
			advice: "foreign_addresses web",
		},
		{
			name: "the fourth post: pods drained at the load balancer 7 s before their images change, a client that batches for 2 s",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				return c.updates(307, c.web(), c.web().pods[:6], func(i int) float64 { return 1.5 + float64(i)*1.1 }, 12)
			},
			expected: []expectation{{330, "update_in_place shop/Deployment/web"}, {600, "update_in_place shop/Deployment/web"}},
			evidence: []string{"2s"},
			advice:   "inplace_updates web",
		},
		{
			name: "a readiness gate turns False and stays so",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				p := c.web().pods[0]
				p.Gates = 1
				return c.at(300, func() {
					p.GatesNotReady = []string{"target-health.elbv2.k8s.aws/web"}
					p.setReady(c, false, "ReadinessGatesNotReady")
				})
			},
			expected: []expectation{{420, "workload shop/Deployment/web"}},
		},
		{
			name: "somebody keeps a slice with dead addresses beside the selector",
			cluster: func() *fakeCluster {
				c := newFakeCluster(3)
				slice := &event.EndpointSlice{
					Meta: metaOf("slice", "shop", "web-extra"), Service: "web", ManagedBy: "someone.example.com", Writer: "someone",
					Addresses: []event.Address{{UID: event.AddressUID("10.9.9.9"), IP: "10.9.9.9", ByHand: true, Ready: true}},
				}
				return c.at(300, func() { c.others = append(c.others, slice); c.sendToWatch(event.Added, slice) })
			},
			expected: []expectation{{330, "foreign_writer shop/web"}, {600, "foreign_writer shop/web"}},
			advice:   "foreign_addresses web",
		},
		{
			name: "Cilium Cluster Mesh adds addresses of another cluster",
			cluster: func() *fakeCluster {
				c := newFakeCluster(3)
				slice := &event.EndpointSlice{
					Meta: metaOf("slice", "shop", "web-mesh"), Service: "web", ManagedBy: "endpointslice-mesh-controller.cilium.io", Writer: "clustermesh",
					Addresses: []event.Address{{UID: event.AddressUID("10.9.9.9"), IP: "10.9.9.9", ByHand: true, Ready: true}},
				}
				return c.at(300, func() { c.others = append(c.others, slice); c.sendToWatch(event.Added, slice) })
			},
			expected: []expectation{{330, ""}, {600, ""}},
		},
	}
}

// manual adds a Service with manual Endpoints. If selector is set, the Service also has a selector that matches no pod.
func (s *fakeCluster) manual(name string, selector bool) *fakeService {
	v := s.service(name, selector)
	v.byHand = true
	return v
}
