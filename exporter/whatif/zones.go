package whatif

// zones holds the nodes of each zone.
type zones struct {
	// The map nodes holds the names of all nodes seen in each zone. The map deleted holds the number of deleted nodes
	// in each zone.
	nodes   map[string]map[string]bool
	deleted map[string]int
}

func newZones() *zones {
	return &zones{nodes: map[string]map[string]bool{}, deleted: map[string]int{}}
}

// add adds a node to a zone.
func (z *zones) add(zone, node string) {
	if z.nodes[zone] == nil {
		z.nodes[zone] = map[string]bool{}
	}
	z.nodes[zone][node] = true
}

// remove records that a node of a zone was deleted.
func (z *zones) remove(zone string) { z.deleted[zone]++ }

// count returns the number of zones.
func (z *zones) count() int { return len(z.nodes) }

// total returns the number of nodes in all zones. It includes deleted nodes.
func (z *zones) total() (n int) {
	for _, nodes := range z.nodes {
		n += len(nodes)
	}
	return n
}

// size holds the minimum and the maximum number of nodes in a zone.
type size struct{ least, most int }

// size returns the minimum and the maximum number of nodes in a zone. Deleted nodes count only in the maximum.
func (z *zones) size(zone string) size {
	all := len(z.nodes[zone])
	return size{max(all-z.deleted[zone], 0), all}
}
