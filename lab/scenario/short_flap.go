package scenario

func shortFlap() Scenario {
	const node = "brief"
	return Scenario{
		Name:       "short-flap",
		Summary:    "a node is NotReady for less than a second, between two scrapes",
		NextScrape: true,
		// The node has no kubelet, so only the scenario writes the node's status. The node controller's grace period is
		// longer than the scenario.
		Prepare: func(l *Lab) { createNode(l, node) },
		Run: func(l *Lab) {
			flapNode(l, node)
			l.waitForNodeStatus("false", node)
			l.waitForNodeStatus("true", node)
		},
	}
}
