package scenario

import (
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

const (
	// changes is the number of random changes.
	changes = 2000
	// between is the number of steps between two comparisons of all counts.
	between = 250
	// enough is the minimum number of transitions for a meaningful test.
	enough = 2000
)

func random() Scenario {
	return Scenario{
		Name:    "random",
		Summary: "thousands of random changes to nodes, pods, Services, Endpoints and slices",
		Options: cluster.Options{ControllerManagerFlags: []string{
			// The nodes have no kubelets, so the node controller must not interfere.
			"--node-monitor-grace-period=1h", "--node-startup-grace-period=1h",
			"--kube-api-qps=1000", "--kube-api-burst=2000",
			"--concurrent-endpoint-syncs=10", "--concurrent-service-endpoint-syncs=10",
			"--mirroring-concurrent-service-endpoint-syncs=10",
		}},
		Prepare: func(l *Lab) { createNamespace(l, chaosNamespace) },
		Run: func(l *Lab) {
			l.Log.Info("random changes", "seed", l.Seed, "changes", changes)
			c := &chaos{Lab: l, random: rand.New(rand.NewPCG(l.Seed, 0))}
			c.populate()
			for i := range changes {
				l.Part(fmt.Sprintf("step %d", i), func(l *Lab) {
					c.step()
					if i%between == between-1 {
						l.comparison().Agree(l.Ctx, patience)
					}
				})
			}
			checkEnoughHappened(l)
		},
	}
}

// chaosNamespace is the namespace of all objects of the random scenario.
const chaosNamespace = "chaos"

// chaos holds the objects that the random scenario has created.
type chaos struct {
	*Lab
	random   *rand.Rand
	nodes    []*chaosNode
	pods     []*chaosPod
	services []*chaosService
	// serial makes names and addresses unique.
	serial int
}

// populate creates the first objects.
func (c *chaos) populate() {
	const nodes, pods, services = 8, 40, 10
	for i := range nodes {
		node := &chaosNode{name: fmt.Sprintf("edge-%d", i+1)}
		c.nodes = append(c.nodes, node)
		c.makeNode(node)
	}
	for range pods {
		c.addPod()
	}
	for i := range services {
		service := &chaosService{name: fmt.Sprintf("service-%d", i+1)}
		c.services = append(c.services, service)
		c.makeService(service)
	}
}

// step makes one random change. Changes of readiness are frequent, and new Services are rare.
func (c *chaos) step() {
	actions := []struct {
		weight int
		do     func()
	}{
		{30, c.flipPod},
		{8, c.flipNode},
		{8, c.heartbeat},
		{4, c.addPod},
		{4, c.removePod},
		{3, c.changeImage},
		{3, c.restartContainer},
		{2, c.relabelPod},
		{5, c.writeByHand},
		{5, c.writeSlice},
		{2, c.changeService},
		{1, c.recreateService},
		{1, c.recreateNode},
	}
	total := 0
	for _, a := range actions {
		total += a.weight
	}
	pick := c.random.IntN(total)
	for _, a := range actions {
		if pick -= a.weight; pick >= 0 {
			continue
		}
		err := c.Play(c.Ctx, func(*Lab) { a.do() })
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			c.Must(err) // otherwise, a controller changed the object before this update
		}
		return
	}
}

// chance returns true with a probability of 1/n.
func (c *chaos) chance(n int) bool { return c.random.IntN(n) == 0 }

func (c *chaos) next() int {
	c.serial++
	return c.serial
}

// address returns an unused IP address.
func (c *chaos) address() string {
	n := c.next()
	return fmt.Sprintf("10.%d.%d.%d", 100+n/65536, n/256%256, n%256)
}

// checkEnoughHappened fails if the scenario has caused too few transitions for a meaningful test.
func checkEnoughHappened(l *Lab) {
	for _, metric := range []string{transitions, flips, lost, "kubeflap_pod_inplace_updates_total", "kubeflap_pod_silent_restarts_total"} {
		l.Expect(l.counts().Sum(metric) > 0, "no counts in %s", metric)
	}
	// This number includes transitions of objects that have been deleted, unlike the counters.
	n := l.Truth.Transitions()
	l.Expect(n >= enough, "got %d transitions, want at least %d", n, enough)
}

// pick returns a random element.
func pick[T any](c *chaos, of []T) T { return of[c.random.IntN(len(of))] }

// clock returns the current time according to the node's clock, which can be set back.
func (n *chaosNode) clock() time.Time { return time.Now().Add(-n.behind) }
