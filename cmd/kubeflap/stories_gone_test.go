package main

// storiesOfMachinesGone returns stories about machines that are removed without notice, and whose Nodes are deleted
// soon after the last heartbeat. They cannot be distinguished from machines that failed and were replaced, or from
// nodes that lost a shared component.
func storiesOfMachinesGone() []scenario {
	const gone = "machines that are gone were reclaimed, or failed and were replaced"
	return []scenario{
		{
			name: "machines are replaced node by node without notice",
			cluster: func() *fakeCluster {
				c := newFakeCluster(12)
				for i := 1; i <= 6; i++ {
					at := 300 + 240*float64(i)
					c.silence(at, forever, i).deletes(at+90, i)
				}
				return c
			},
			expected: []expectation{{590, "node 1"}, {1300, "node 4; undecided 1; undecided 2; undecided 3"}, {1900, "undecided 1; undecided 2; undecided 3; undecided 4; undecided 5; undecided 6"}},
			open:     gone,
			evidence: []string{"the machine is gone: it was reclaimed, or it failed and was replaced"}, lacks: []string{"one after the other"},
		},
		{
			name: "four of ten machines are terminated at once without notice",
			cluster: func() *fakeCluster {
				return newFakeCluster(10).silence(300, forever, 1, 2, 3, 4).deletes(380, 1).deletes(382, 2).deletes(384, 3).deletes(386, 4)
			},
			expected: []expectation{{350, "shared_path 1,2,3,4"}, {390, "undecided 1,2,3,4"}, {900, "undecided 1,2,3,4"}},
			open:     gone,
			evidence: []string{"each of these Nodes was deleted soon after: somebody may have removed these machines without notice"},
			lacks:    []string{"check etcd", "Check etcd"},
		},
		{
			name: "two Nodes are deleted 15 s after their last heartbeat, without notice",
			cluster: func() *fakeCluster {
				return newFakeCluster(10).silence(300, forever, 1, 2).deletes(315, 1).deletes(315, 2)
			},
			expected: []expectation{{435, "undecided shop/Deployment/cart"}, {700, "undecided shop/Deployment/cart"}},
			open:     "whether a machine failed or was removed",
			evidence: []string{"after the deletion of Nodes node-1 and 1 more", "the pods were deleted with their Nodes: node-1 and 1 more", "Find out who deleted Nodes node-1 and 1 more"},
			lacks:    []string{"maxUnavailable"},
		},
		{
			name: "six nodes fall silent together, two return, and the Nodes of the others are deleted",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, 420, 1, 4).silence(300, forever, 2, 5, 7, 8).deletes(500, 2).deletes(500, 5).deletes(501, 7).deletes(502, 8)
			},
			expected: []expectation{{350, "shared_path 1,2,4,5,7,8"}, {900, "shared_path 1,2,4,5,7,8"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,4", over: true,
		},
		{
			name:     "a rack of three machines loses its power, two restart, and the third one stays away",
			cluster:  func() *fakeCluster { return newFakeCluster(9).reboots(300, 400, 1, 2).silence(300, forever, 3) },
			expected: []expectation{{350, "shared_path 1,2,3"}, {410, "undecided 1,2,3"}, {1500, "undecided 1,2,3"}},
			open:     "the bootID of the third machine shows when it is back",
			evidence: []string{"1 more fell silent with them and came back with a new bootID, so all of these machines may have restarted"},
			lacks:    []string{"heck etcd"},
			advice:   "undecided 1,2,3",
		},
		{
			name: "a rack of three machines loses its power, and they restart one after the other",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).reboots(300, 400, 1).reboots(300, 440, 2).reboots(300, 500, 3)
			},
			expected: []expectation{{350, "shared_path 1,2,3"}, {450, "undecided 1,2,3"}, {510, "node_rebooted 1,2,3"}, {900, "node_rebooted 1,2,3"}},
			open:     "the bootID of the third machine shows when it is back",
			advice:   "nodes_rebooted 1,2,3", over: true,
		},
	}
}
