package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

const (
	// victim is the node that most faults of the jury affect.
	victim = "node-2"
	// drifting is the node whose clock is wrong.
	drifting = "drifting"
	// unanswered is longer than the grace period of the jury's clusters.
	unanswered = 50 * time.Second
)

func silent(verdict, node string) []Report {
	return []Report{{verdict, "node", "node_heartbeat_lost", node, "", ""}}
}

// nodeFaults returns the faults of nodes with a kubelet.
func nodeFaults() []*Fault {
	stop := func(l *Lab, _ *Fault) { l.Cluster.Kubelets[victim].Stop() }
	return []*Fault{
		{Number: 1, Want: silent("node", victim), play: stop},
		{Number: 2, Want: silent("node", victim), play: func(l *Lab, f *Fault) {
			stop(l, f)
			f.isSaid(l)
			l.Sleep(20 * time.Second)
			l.Cluster.Kubelets[victim].Restart()
			waitForRecovery(l, victim)
		}},
		{Number: 3, Want: silent("node_rebooted", victim), play: func(l *Lab, f *Fault) {
			stop(l, f)
			l.waitForNodeStatus("unknown", victim)
			l.Cluster.Boot(victim)
			l.waitForNodeStatus("true", victim)
			f.begins()
			catchUpWithRecorder(l, transitions)
		}},
		{Number: 4, Want: silent("node", victim), prepare: onlyPod, play: func(l *Lab, _ *Fault) { l.Cluster.Remove(victim) }},
		{Number: 18, Want: silent("node", victim), play: func(l *Lab, f *Fault) { cutOff(l, f, victim) }},
		{Number: 8, Want: silent("node", drifting), play: clockFaults},
		{Number: 20, Want: silent("planned", victim), play: func(l *Lab, f *Fault) {
			cordon(l, victim)
			drain(l, victim)
			f.begins()
			stop(l, f)
			f.isSaid(l)
			l.Cluster.Boot(victim)
		}},
		{Number: 29, Want: []Report{{"node", "node", "node_not_ready", victim, "", ""}}, play: func(l *Lab, f *Fault) {
			const failed = `{"type":%q,"status":%q,"reason":"nodeFailed","message":"node failed","lastHeartbeatTime":%[3]s,"lastTransitionTime":%[3]s}`
			patchNode(l, victim, fmt.Sprintf(failed, "Ready", "False", now())+","+fmt.Sprintf(failed, "MemoryPressure", "True", now()))
			f.isSaid(l, "node failed", "MemoryPressure") // until the kubelet writes its own conditions, 10 s later at most
		}},
	}
}

// cutOff cuts nodes off from the API server until they are Unknown and kubeflap has reported this.
func cutOff(l *Lab, f *Fault, nodes ...string) {
	for _, node := range nodes {
		l.Cluster.Proxies[node].Cut()
	}
	f.isSaid(l)
	l.waitForNodeStatus("unknown", nodes...)
	for _, node := range nodes {
		l.Cluster.Proxies[node].Mend()
	}
	waitForRecovery(l, nodes...)
}

// sharedFaults returns the faults of what all nodes share, or the nodes of a zone.
func sharedFaults() []*Fault {
	shared := []Report{{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "", ""}}
	back := func(l *Lab) {
		l.Until("the API server", func(l *Lab) { l.Must(l.Cluster.ReadyAPIServer(l.Ctx)) })
		waitForRecoveredWatches(l)
	}
	return []*Fault{
		{Number: 16, Want: shared, blinding: true, play: func(l *Lab, f *Fault) {
			l.Cluster.Etcd.Pause()
			f.isSaid(l)
			l.Sleep(time.Until(f.began.Add(75 * time.Second)))
			l.Cluster.Etcd.Resume()
			back(l)
		}},
		{Number: 17, blinding: true, play: func(l *Lab, _ *Fault) {
			l.Cluster.APIServer.Stop()
			l.Sleep(15 * time.Second)
			l.Cluster.APIServer.Restart()
			back(l)
			l.Sleep(unanswered)
		}},
		{
			Number: 19, Want: shared, nodes: 9, prepare: func(l *Lab) { spreadOverZones(l, 3) },
			play: func(l *Lab, f *Fault) {
				cutOff(l, f, "node-3", "node-6", "node-9")
				f.isSaid(l, zoneLabel+"=zone-3")
			},
		},
		{Number: 28, play: surge},
	}
}

// surge sends requests to the API server for longer than the grace period, with the priority of a workload.
func surge(l *Lab, _ *Fault) {
	account := l.Cluster.AccountKubeconfig(l.Ctx, "kubeflap", "kubeflap")
	config := steps.Value(clientcmd.BuildConfigFromFlags("", account))
	config.QPS = -1
	client := steps.Value(kubernetes.NewForConfig(config)).CoreV1()
	end := time.Now().Add(unanswered)
	steps.Each(l.Ctx, 20, 20, func(ctx context.Context, _ int) {
		for time.Now().Before(end) {
			// The API server may reject these requests, because those of the kubelets have a higher priority.
			_, _ = client.Nodes().List(ctx, metav1.ListOptions{})
			_, _ = client.Pods("").List(ctx, metav1.ListOptions{})
		}
	})
}

// clockFaults sets the clock of a node ahead, and then right again. The node has no kubelet: the lab renews its Lease.
func clockFaults(l *Lab, f *Fault) {
	var ahead atomic.Int64
	createNode(l, drifting)
	go func() {
		for poll.Sleep(l.Ctx, renewal) == nil {
			// At the end of the lab, a renewal can fail.
			_ = l.Play(l.Ctx, func(l *Lab) { renewLease(l, drifting, time.Now().Add(time.Duration(ahead.Load()))) })
		}
	}()
	l.waitForNoTaints()
	ahead.Store(int64(30 * 24 * time.Hour))
	l.Sleep(renewal + unanswered)
	l.Expect(len(l.Incidents().Incidents) == 0, "%+v while the clock was ahead", l.Incidents().Incidents)
	f.begins()
	ahead.Store(0)
	f.isSaid(l, "the clock of "+drifting+" was set back")
}

func workload(cause, subject string) []Report {
	return []Report{{"workload", "workload", cause, subject, "", ""}}
}

// onlyPod creates a Service with only one pod, which runs on the victim.
func onlyPod(l *Lab) {
	MakeReadyWeb(l, victim)
	l.waitForNoTaints()
}

// replaceOnlyPod creates a pod on another node, because the lab has no scheduler.
func replaceOnlyPod(l *Lab, f *Fault) {
	f.isSaid(l)
	createPod(l, newPod("shop", podName(1), cluster.NodeName(0), "web"))
	l.webHas(1, "ready")
}

// serviceFaults returns the faults of Services, and of pods without a controller.
func serviceFaults() []*Fault {
	return []*Fault{
		{Number: 5, Want: []Report{{"planned", "workload", "pod_evicted", "Service/web", "announced by a cordon", ""}}, prepare: onlyPod, play: func(l *Lab, f *Fault) {
			cordon(l, victim)
			f.begins()
			evict(l, "shop", podName(0))
			replaceOnlyPod(l, f)
		}},
		{Number: 6, Want: workload("pod_evicted", "Service/web"), prepare: onlyPod, play: func(l *Lab, f *Fault) {
			setTaints(l, victim, fmt.Sprintf(`[{"key":%q,"effect":"NoExecute"}]`, taint))
			f.isSaid(l, "DeletionByTaintManager")
			replaceOnlyPod(l, f)
		}},
		{Number: 9, Want: []Report{{"service_spec", "service", "service_changed", "web", "", ""}}, play: func(l *Lab, _ *Fault) {
			patchService(l, "shop", "web", `{"spec":{"selector":{"app":"wrong"}}}`)
		}},
		{Number: 12, Unsaid: true, play: func(l *Lab, _ *Fault) {
			setImage(l, "shop", podName(1), "example.com/pause:1")
			l.waitForCount(1, "kubeflap_pod_inplace_updates_total")
		}},
		{Number: 23, play: func(l *Lab, _ *Fault) { removeService(l, "shop", "web") }},
		{Number: 27, play: func(l *Lab, _ *Fault) {
			patchService(l, "shop", "web", `{"spec":{"ports":[{"port":80,"targetPort":9999}]}}`)
			l.Until("the new port", func(l *Lab) { l.Expect(*slicesOf(l, "shop", "web")[0].Ports[0].Port == 9999, "it is not there") })
		}},
	}
}

// deploymentFaults returns the faults of Deployments whose pods have a readiness probe.
func deploymentFaults() []*Fault {
	const missing = "example.com/app:missing"
	probed, unresolved, rolled := newProbes(), newProbes(), newProbes()
	return []*Fault{
		{
			Number: 10, Want: workload("probe_failed", "Deployment/web"), prepare: deployed(probed, 2, "web"),
			play: func(*Lab, *Fault) { probed.set(readiness, "", true) },
		},
		{Number: 11, prepare: deployed(newProbes(), 3, "web"), play: func(l *Lab, _ *Fault) {
			remove(l, l.Client.CoreV1().Pods("shop"), podsOf(l, "web")[0].Name)
			l.waitForCount(1, lost, "service", "web")
		}},
		{Number: 13, Want: workload("container_exit", "Deployment/web"), prepare: deployed(newProbes(), 1, "web"), play: func(l *Lab, _ *Fault) {
			l.Must(l.Cluster.Runtimes[victim].Exit("shop", podsOf(l, "web")[0].Name, 137, "Error"))
		}},
		{Number: 30, Want: workload("container_exit", "Deployment/web"), prepare: deployed(newProbes(), 1, "web"), play: func(l *Lab, f *Fault) {
			l.Cluster.Kubelets[victim].Pause() // it would correct the status
			const status = `{"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False","lastTransitionTime":%s}],
				"containerStatuses":[{"name":%q,"image":"","imageID":"","ready":false,"restartCount":0,"state":{"running":null,"terminated":{"exitCode":1,"reason":"containerFailed"}}}]}}`
			patchPod(l, "shop", podsOf(l, "web")[0].Name, fmt.Sprintf(status, now(), container), "status")
			f.isSaid(l, "exit code 1")
			l.Cluster.Kubelets[victim].Resume()
		}},
		{
			Number: 14, Want: append(workload("probe_failed", "Deployment/web"), workload("probe_failed", "Deployment/cart")...),
			prepare: deployed(unresolved, 2, "web", "cart"),
			play:    func(*Lab, *Fault) { unresolved.set(readiness, "", true) },
		},
		{
			Number: 22, Want: workload("pod_deleted", "Deployment/web"), prepare: deployed(newProbes(), 2, "web", "cart"),
			play: func(l *Lab, _ *Fault) { changeWeb(l, `{"replicas":0}`) },
		},
		{Number: 25, Want: workload("pod_deleted", "Deployment/web"), prepare: deployed(newProbes(), 2, "web"), play: func(l *Lab, f *Fault) {
			for range 100 {
				l.Cluster.Runtimes[victim].ImageService.InjectError("PullImage", errors.New("not found"))
			}
			f.begins()
			changeWeb(l, fmt.Sprintf(`{"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"spec":{"containers":[{"name":%q,"image":%q}]}}}`, container, missing))
			f.isSaid(l, missing)
		}},
		{Number: 26, prepare: deployed(rolled, 2, "web"), play: func(l *Lab, _ *Fault) {
			rolled.set(readiness, "wrong", true)
			const probe = `{"template":{"spec":{"containers":[{"name":%q,"readinessProbe":{"httpGet":{"path":%q}}}]}}}`
			changeWeb(l, fmt.Sprintf(probe, container, probePath(readiness, "wrong")))
			l.waitForCount(1, addresses, "service", "web", "state", "not_ready")
		}},
	}
}

// deployed returns a function that creates Services, each with the pods of a Deployment on the victim.
func deployed(p *probes, replicas int32, services ...string) func(*Lab) {
	return func(l *Lab) {
		p.serve(l)
		createNamespace(l, "shop")
		for _, service := range services {
			createServiceWith(l, "shop", service, nil)
			pod := newPod("shop", "", victim, service)
			p.ready(pod)
			deploy(l, service, replicas, pod)
			l.waitForReadyAddresses("shop", service, int(replicas))
		}
	}
}

func changeWeb(l *Lab, spec string) {
	patch(l, l.Client.AppsV1().Deployments("shop"), "web", `{"spec":`+spec+`}`)
}

func podsOf(l *Lab, service string) []corev1.Pod {
	return list(l, l.Client.CoreV1().Pods("shop"), metav1.ListOptions{LabelSelector: "app=" + service}).Items
}

const zoneLabel = "topology.kubernetes.io/zone"

// spreadOverZones distributes the nodes over zones, and creates the Service "web" with a pod on each node.
func spreadOverZones(l *Lab, zones int) {
	nodes := l.nodes()
	for i, node := range nodes {
		patch(l, l.Client.CoreV1().Nodes(), node, fmt.Sprintf(`{"metadata":{"labels":{%q:"zone-%d"}}}`, zoneLabel, 1+i%zones))
	}
	spreadReady(l, len(nodes))
}

// waitForRecovery waits until the given nodes and all addresses are ready again.
func waitForRecovery(l *Lab, nodes ...string) {
	l.waitForNodeStatus("true", nodes...)
	l.webHas(len(l.Cluster.Kubelets), "ready")
}
