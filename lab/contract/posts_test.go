package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// replayed returns a cluster in which the events of a recording happen. After the end of the recording, the nodes that
// were alive then live on.
func replayed(t *testing.T, file string) *cluster {
	t.Helper()
	r := try(recording.Open(Root + "/" + file + ".jsonl.gz"))(t)
	defer r.Close()
	var c *cluster
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			c = newCluster(e.Seen)
			c.zero = c.now.Add(time.Second) // the first lists come before the first scrape
			replica := &replica{name: "a", cluster: c}
			replica.begin()
			c.replicas = append(c.replicas, replica)
		}
		c.at(e.Seen.Sub(c.zero), func() { c.send(e) })
	}
	c.at(c.busy[len(c.busy)-1].Sub(c.zero), c.livesOn)
	return c
}

// livesOn renews the Leases that were renewed in the last minute, and sends bookmarks.
func (c *cluster) livesOn() {
	for _, o := range c.listed(event.KindLease) {
		if lease := *o.(*event.Lease); c.now.Sub(lease.RenewTime) < time.Minute {
			lease.RenewTime = c.now
			c.tell(event.Modified, &lease)
		}
	}
	for _, k := range event.Kinds() {
		c.send(event.Event{Seen: c.now, Kind: k, Type: event.Bookmark})
	}
	c.in(10*time.Second, c.livesOn)
}

// Each of the five incidents of the demo notifies once. The second one has manually managed addresses with and without a
// selector, which are two incidents. In the fifth one, the setting itself is a warning, which comes before the page or with it.
func TestEachPostNotifiesOnce(t *testing.T) {
	const demo = "exporter/recording/incidents/"
	const lost = "warning NodeLost node-%d 20s-2m 5m-8m\n"
	for _, x := range []scene{
		{seen: "one of two nodes is silent", file: demo + "1-heartbeat-loss", news: 1, fires: "warning NodeLost node-2 30s-2m\nwarning GracePeriodTooTight - 30s-2m"},
		{
			seen: "Endpoints are overwritten", file: demo + "4-endpoints-reset", pages: 1, news: 2,
			fires: `critical EndpointsOverwritten kube-system/kube-controller-manager 20s-1m30s 15m-17m
				critical EndpointsOverwritten kube-system/kube-scheduler 20s-1m30s 15m-17m
				warning EndpointsOverwritten shop/database 20s-1m30s 15m-17m`,
		},
		{
			seen: "etcd stalls", file: demo + "2-control-plane-stall", pages: 1, news: 1,
			fires: "critical ControlPlaneFault - 50s-1m30s\nwarning ControlPlaneFault - 50s-1m30s\n" +
				fmt.Sprintf(lost+lost+lost+lost, 1, 2, 3, 4),
		},
		{seen: "images are changed in place, in batches", file: demo + "5-batch-upgrade", news: 1, fires: "warning InPlaceUpdateUnsafe shop/web 20s-1m30s"},
		{
			seen: "the grace period is too short", file: demo + "3-tight-grace-period", pages: 1, news: 2,
			fires: "critical ControlPlaneFault - 20s-1m30s\nwarning ControlPlaneFault - 20s-1m30s\nwarning GracePeriodTooTight - 5s-1m30s\n" +
				fmt.Sprintf(lost+lost+lost, 1, 2, 3),
		},
	} {
		t.Run(x.seen, x.run)
	}
}
