package main

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	aws       = "aws:///eu-west-1a/i-0a1"
	otherAWS  = "aws:///eu-west-1a/i-0b2"
	gceByName = "gce://shop/europe-west1-b/node-1"
)

// storiesOfRecreatedNodes returns stories about silent nodes that are deleted and created again with the same name.
func storiesOfRecreatedNodes() (stories []scenario) {
	back := func(boot, provider string) func(*event.Node) {
		return func(o *event.Node) { o.BootID, o.ProviderID = boot, provider }
	}
	for _, x := range []struct {
		name, provider string
		again          func(*event.Node)
		// want is the verdict after the node is back.
		want, evidence string
	}{
		{"with the same bootID", "", back("boot-1", ""), "node", "created again with the same bootID, so the machine was not rebooted"},
		{"with the same providerID and a new bootID", aws, back("boot-2", aws), "node_rebooted", "reported a new bootID after the silence"},
		{"with a different providerID", aws, back("boot-2", otherAWS), "undecided", "created again with a different providerID, so it is a different machine"},
		{"with a new bootID, without a cloud", "", back("boot-2", ""), "undecided", "it was either rebooted or replaced"},
		{"with a new bootID, and a providerID that only has its name", gceByName, back("boot-2", gceByName), "undecided", "it was either rebooted or replaced"},
	} {
		for _, minutes := range []float64{1, 6} {
			at := 420 + 60*minutes
			s := scenario{
				name: fmt.Sprintf("a silent node is deleted, and created again %g minutes later %s", minutes, x.name),
				cluster: func() *fakeCluster {
					c := newFakeCluster(9).silence(300, at, 1).deletes(420, 1).recreates(at, 1, x.again)
					c.nodes[0].ProviderID = x.provider
					return c
				},
				expected: []expectation{{350, "node 1"}, {430, "undecided 1"}, {at + 10, x.want + " 1"}, {at + 600, x.want + " 1"}},
				open:     "until the node is back, the machine may be gone",
				evidence: []string{x.evidence}, over: true,
			}
			if x.want == "undecided" {
				s.open = "a machine that is gone was reclaimed, or failed and was replaced"
			}
			s.advice = map[string]string{"node": "nodes_silent 1", "node_rebooted": "nodes_rebooted 1"}[x.want]
			if minutes == 1 && x.want == "undecided" {
				s.advice = "undecided 1" // advise only reports such an incident for ten minutes after its end
			}
			stories = append(stories, s)
		}
	}
	return append(stories, scenario{
		name: "a node is deleted by hand, and its kubelet registers it again",
		cluster: func() *fakeCluster {
			return newFakeCluster(9).deletes(420, 1).recreates(425, 1, back("boot-1", ""))
		},
		expected: []expectation{{430, ""}, {900, ""}},
	}, scenario{
		name: "a healthy machine is replaced by another one of its name",
		cluster: func() *fakeCluster {
			return newFakeCluster(9).deletes(420, 1).recreates(480, 1, back("boot-2", otherAWS))
		},
		expected: []expectation{{500, ""}, {900, ""}},
	}, scenario{
		name: "a silent node is rebooted, deleted and created again while kubeflap's watch of nodes is broken",
		cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 480, 1).breaks(event.KindNode, 410, 490, event.ReasonTimeout).deletes(420, 1).recreates(480, 1, back("boot-2", aws))
			c.nodes[0].ProviderID = aws
			return c
		},
		expected: []expectation{{350, "node 1"}, {400, "node 1"}, {500, "node_rebooted 1"}, {900, "node_rebooted 1"}}, over: true,
		open: "no node is seen", advice: "nodes_rebooted 1",
	}, scenario{
		name: "a host takes three nodes down, which are deleted, reboot and register again",
		cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 480, 1, 2, 3)
			for i := 1; i <= 3; i++ {
				provider := aws + nodeNamed(i) + "-vm"
				c.nodes[i-1].ProviderID = provider
				c.deletes(420, i).recreates(480+float64(i), i, back("boot-2", provider))
			}
			return c
		},
		expected: []expectation{{350, "shared_path 1,2,3"}, {430, "undecided 1,2,3"}, {490, "node_rebooted 1,2,3"}, {900, "node_rebooted 1,2,3"}},
		open:     "two nodes can be chance, and machines that are gone may have been removed, until they register again",
		advice:   "nodes_rebooted 1,2,3",
	}, scenario{
		name: "an autoscaler replaces a machine by another one of its name",
		cluster: func() *fakeCluster {
			c := newFakeCluster(9).taint(300, 1, "ToBeDeletedByClusterAutoscaler").silence(340, 480, 1).deletes(420, 1).recreates(480, 1, back("boot-2", otherAWS))
			c.nodes[0].ProviderID = aws
			return c
		},
		expected: []expectation{{390, "planned 1"}, {490, "planned 1"}, {900, "planned 1"}}, over: true,
	})
}
