package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// publicReport is a recording of a cluster that was built from a public bug report. Seconds count from its beginning.
type publicReport struct {
	file string
	// from maps a second to the incidents that the API must show from then on until the next such second, in the form of
	// pageIncident.String. It is a regular expression.
	from map[int]string
	// then maps a second to what an incident must say from then on until the next such second.
	then map[int]string
	// never matches what no incident may say at any time. says matches what an incident must say at the end.
	never, says string
}

const (
	// sharedPaths matches incidents of nodes that stall together. onePath matches texts that exclude what they share.
	sharedPaths = `^((shared_path|undecided) [\d,]+(; |$))+$`
	onePath     = `sent their heartbeats on time|etcd works|nor in etcd`
)

// TestReports replays recordings of public bug reports.
func TestReports(t *testing.T) {
	for _, x := range []publicReport{
		{
			// The grace period of 16 s is hidden, and kubeflap assumes 40 s. Two nodes die, one after the other.
			file:  "unknown-short-grace-period-two-nodes-die",
			from:  map[int]string{0: `^$`, 360: `^(node|undecided) 3$`, 960: `^(node|undecided) 2; (node|undecided) 3$`},
			never: `the heartbeats were on time|neither the nodes nor etcd|controller manager is slow`,
			says:  `grace period 1[67]s`,
		},
		{
			// The grace period of 600 s is hidden, and kubeflap assumes 40 s.
			file:  "unknown-long-grace-period-node-silent",
			from:  map[int]string{1100: `^endpoints_controller \S+; endpoints_controller \S+; (node|undecided) 3$`},
			never: `stuck|did not notice|has not reacted|the heartbeats of node-3 were on time|grant kubeflap`,
			says:  `It may be longer`,
		},
		{
			// A taint of the Cluster Autoscaler is 70 min old when the machine dies.
			file:  "old-removal-taint-then-machine-dies",
			from:  map[int]string{0: `^$`, 4560: `^node 3$`},
			never: `Nothing is at fault`,
			says:  `the taint ToBeDeletedByClusterAutoscaler of node-3 was 1h10m old, and nothing had followed it`,
		},
		{
			// Images change after the pods have left the rotation. Later, an outdated write makes the pods unready.
			file:  "gated-image-update-then-stale-ready-write",
			from:  map[int]string{0: `^$`, 360: `^(update_in_place|workload) shop/CloneSet/game`},
			never: `while Ready was still True|while the address was in rotation|Set a readiness gate to False`,
			says:  `"addresses_lost":4`,
		},
		{
			// The kubelets of two nodes complain about PLEG again and again, for 4 min each time.
			file:  "kubelet-reports-not-ready-every-8-minutes",
			from:  map[int]string{0: `^$`, 300: `^node 2$`, 520: `^node 2; node 3$`},
			never: `kubectl describe|[Ff]ind out|no heartbeat for|--node-monitor-grace-period`,
			says:  `"summary":"[^}]*PLEG is not healthy: pleg was last seen active 3m7.629592089s ago; threshold is 3m0s[^}]*"remedy":"The container runtime on node-2 answers the kubelet too slowly`,
		},
		{
			// The mirror pod of a static pod is recreated every 11 s.
			file: "static-pod-mirror-recreated-every-11s",
			from: map[int]string{0: `^$`, 360: `^workload kube-system/`},
			says: `the pods were replaced again and again`,
		},
		{
			// Three times, four of nine nodes stall together, and one or two of them are lost.
			file:  "stalls-one-node-lost-three-late",
			from:  map[int]string{0: `^$`, 660: sharedPaths},
			never: onePath,
			says:  `the heartbeats of 4 of 9 nodes became late within`,
		},
		{
			// Five of nine nodes stall together, and two of them are lost.
			file:  "stall-two-nodes-lost-three-late",
			from:  map[int]string{0: `^$`, 780: sharedPaths},
			never: onePath,
			says:  `the heartbeats of 5 of 9 nodes became late within`,
		},
		{
			// Without Leases, a kubelet reports every 20 to 50 s, from the beginning on.
			file:  "slow-kubelet-without-leases",
			from:  map[int]string{0: `^$`, 80: `^node 1$`},
			never: `grant|on other nodes|in place|image changed|sees no Leases`,
			says:  `--node-monitor-grace-period to 100s`,
		},
		{
			// node-3 is silent for 47 s. Its kubelet never sets a pod to Ready again, until somebody deletes the pod.
			file: "pod-stays-unready-after-node-recovery",
			from: map[int]string{0: `^$`, 360: `^node 3$`},
			then: map[int]string{420: `"remedy":"Delete the pod, or restart the kubelet on node-3.*"waits_for":"git/lab waits for the Ready condition of pod git/lab-5d401-9fe7d,`, 1705: ``},
			says: `git/lab waited 22m33s for the Ready condition of pod git/lab-5d401-9fe7d, although its containers and node-3 are ready`,
		},
		{
			// The condition of a readiness gate is missing for 1000 s.
			file:  "readiness-gate-condition-comes-late",
			from:  map[int]string{0: `^$`, 360: `^workload pay/`},
			then:  map[int]string{361: `"remedy":"Check the controller that sets.*"waits_for":"pay/pay waits for a readiness gate of pod pay/pay-5d401-0a384 `, 1306: ``},
			never: `nothing replaced them|"planned","holds":"yes"|"node","holds":"yes"`,
			says:  `pay/pay waited 16m40s for a readiness gate of pod pay/pay-5d401-0a384 \(target-health.example.com/pay has no condition\)`,
		},
	} {
		t.Run(x.file, func(t *testing.T) {
			t.Parallel()
			x.check(t)
		})
	}
}

func (x *publicReport) check(t *testing.T) {
	clock := recording.NewClock(0)
	p := newPipeline(trackerSettings(), clock.Now, silent)
	var begin time.Time
	want, then, last := "", "", ""
	looked := 0
	look := func(second int) {
		for ; looked <= second; looked++ {
			if next, ok := x.from[looked]; ok {
				want = next
			}
			if next, ok := x.then[looked]; ok {
				then = next
			}
		}
		all := shownBy(p)
		checkSentences(t, p)
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		last = string(text)
		if got := textOf(all); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("at %d: %q, want %s", second, got, want)
		}
		if !regexp.MustCompile(then).MatchString(last) {
			t.Errorf("at %d: no incident says %s:\n%s", second, then, last)
		}
		if found := regexp.MustCompile(x.never).FindString(last); x.never != "" && found != "" {
			t.Errorf("at %d: an incident says %q", second, found)
		}
	}
	minutes := 0
	play(t, "testdata/reports/"+x.file+recordingSuffix, clock, func(e event.Event) {
		if begin.IsZero() {
			begin = e.Seen
		}
		p.apply(e)
		if since := e.Seen.Sub(begin); int(since/time.Minute) > minutes {
			minutes = int(since / time.Minute)
			look(int(since / time.Second))
		}
	})
	if !regexp.MustCompile(x.says).MatchString(last) {
		t.Errorf("no incident says %s:\n%s", x.says, strings.ReplaceAll(last, `},{`, "},\n{"))
	}
}
