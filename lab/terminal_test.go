package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// TestTerminal checks the terminal commands in a cluster with kubeflap installed from its chart. The commands find its
// Service and read through the API server's proxy, with only the documented permissions.
func TestTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	t.Parallel()
	kubeflap := buildKubeflap(t)
	for _, release := range releases(t) {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, kubeflap, cluster.Options{
				Release: release, Nodes: 3, ControllerManagerPod: true,
				ControllerManagerFlags: []string{"--node-monitor-grace-period=24s", "--node-monitor-period=1s"},
			})
			d.run(func() {
				address := d.install()
				d.permissions()
				interrupted := d.advise()
				d.incident(address)
				interrupted()
				d.checks()
			})
		})
	}
}

// desk is a cluster, and a user's terminal.
type desk struct {
	t        *testing.T
	ctx      context.Context
	cluster  *cluster.Cluster
	kubeflap string
}

func newDesk(t *testing.T, kubeflap string, options cluster.Options) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	options.Log = logger(t)
	c, err := cluster.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return &desk{t, ctx, c, kubeflap}
}

// run fails the test if one of the steps fails.
func (d *desk) run(do func()) {
	if err := steps.Run(do); err != nil {
		d.t.Fatal(err)
	}
}

// start starts kubeflap, and waits until it is ready.
func (d *desk) start(probes string, args ...string) *cluster.Process {
	run := cluster.StartProcess("kubeflap", filepath.Join(d.t.TempDir(), "kubeflap.log"), cluster.Command{Path: d.kubeflap, Args: args})
	d.t.Cleanup(run.Stop)
	ready := func(ctx context.Context) error { return compare.Ready(ctx, "http://"+probes) }
	steps.Must(run.Until(d.ctx, 3*time.Minute, "kubeflap to be ready", ready))
	return run
}

func (d *desk) helm(namespace string, args ...string) {
	d.runs("helm", append(args, "--namespace", namespace)...)
}

func (d *desk) kubectl(args ...string) { d.runs("kubectl", args...) }

func (d *desk) runs(tool string, args ...string) {
	out, err := exec.CommandContext(d.ctx, "../bin/"+tool, append(args, "--kubeconfig", d.cluster.Kubeconfig)...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s %s: %v\n%s", tool, args[0], err, out)
	}
}

// flags returns the flags of the chart's pods in a namespace, with addresses and a directory on this machine, and with
// the account of these pods.
func (d *desk) flags(namespace string, pod *corev1.PodSpec, address, probes string) []string {
	here := strings.NewReplacer("--web.listen-address=:9969", "--web.listen-address="+address, "--web.probe-address=:9970", "--web.probe-address="+probes,
		"--data.dir=/data", "--data.dir="+filepath.Join(d.t.TempDir(), "data"))
	var all []string
	for _, arg := range pod.Containers[0].Args {
		all = append(all, here.Replace(arg))
	}
	return append(all, "--kubeconfig="+d.cluster.AccountKubeconfig(d.ctx, namespace, pod.ServiceAccountName))
}

// install installs the chart with hostNetwork. It binds the pod to a node, because the cluster has no scheduler. The
// kubelet runs no containers, but it probes the pod and marks it ready: kubeflap runs beside the cluster, with the
// pod's account and on its address, which install returns. All nodes have the IP address of this machine.
func (d *desk) install() (address string) {
	node := steps.Value(d.cluster.Client.CoreV1().Nodes().Get(d.ctx, "node-1", metav1.GetOptions{}))
	_, port, _ := net.SplitHostPort(cluster.FreePort())
	_, probePort, _ := net.SplitHostPort(cluster.FreePort())
	address = net.JoinHostPort(node.Status.Addresses[0].Address, port)
	probes := net.JoinHostPort(node.Status.Addresses[0].Address, probePort)
	d.helm(namespace, "install", "kubeflap", "../charts/kubeflap", "--create-namespace",
		"--set", "hostNetwork=true,replicas=1,containerPort="+port+",probePort="+probePort)
	account := d.cluster.AccountKubeconfig(d.ctx, namespace, "kubeflap")
	d.start(probes, "run", "--kubeconfig="+account, "--web.listen-address="+address, "--web.probe-address="+probes)
	pods := d.cluster.Client.CoreV1().Pods(namespace)
	steps.Must(poll.Until(d.ctx, time.Minute, "the chart's pod", func(ctx context.Context) error {
		all, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=kubeflap"})
		if err != nil || len(all.Items) == 0 {
			return fmt.Errorf("no pod: %w", err)
		}
		meta := metav1.ObjectMeta{Name: all.Items[0].Name}
		return pods.Bind(ctx, &corev1.Binding{ObjectMeta: meta, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}, metav1.CreateOptions{})
	}))
	d.makeWeb()
	return address
}

// makeWeb creates a Service with two pods on node-2.
func (d *desk) makeWeb() {
	scenario.MakeReadyWeb(&scenario.Lab{Ctx: d.ctx, Cluster: d.cluster, Client: d.cluster.Client}, "node-2", "node-2")
}

// kubeflapSays runs a kubeflap command, and returns its output, its error output and its exit status.
func (d *desk) kubeflapSays(kubeconfig string, args ...string) (out, errOut string, status int) {
	args = slices.Insert(slices.Clone(args), 1, "--kubeconfig="+kubeconfig)
	cmd := exec.CommandContext(d.ctx, d.kubeflap, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit status is more specific
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// until repeats `kubeflap incidents` until its output or error output matches the pattern, and returns the output.
func (d *desk) until(kubeconfig, pattern string, args ...string) string {
	var out string
	steps.Must(poll.Until(d.ctx, time.Minute, "output that matches "+pattern, func(context.Context) error {
		var errOut string
		out, errOut, _ = d.kubeflapSays(kubeconfig, append([]string{"incidents"}, args...)...)
		if !regexp.MustCompile(pattern).MatchString(out + errOut) {
			return fmt.Errorf("it is:\n%s%s", out, errOut)
		}
		return nil
	}))
	return out
}

// permissions grants a user one permission after another, and checks the output of `kubeflap incidents` each time.
func (d *desk) permissions() {
	d.kubectl("create", "serviceaccount", "reader", "--namespace", tenant)
	reader := d.cluster.AccountKubeconfig(d.ctx, tenant, "reader")
	const named = "--service=" + namespace + "/kubeflap"
	d.until(reader, `cannot find kubeflap's Service: .* cannot list resource "services" .* in the namespace "default"\. Use --service`)
	d.until(reader, `cannot get resource "services/proxy" .* \(grant the verb get on the resource services/proxy in the namespace monitoring\)`, named)

	d.grant("proxy", "--verb=get", "--resource=services/proxy", "--resource-name=kubeflap:http")
	d.until(reader, `^No incidents\. Read from context .*, Service monitoring/kubeflap\.\n$`, named)
	d.until(reader, `cannot find kubeflap's Service`)

	d.grant("list", "--verb=list", "--resource=services")
	d.until(reader, `^No incidents \(namespace monitoring\)\. Read from `, "-n", namespace)
	d.until(d.cluster.Kubeconfig, `^No incidents\. Read from context .*, Service monitoring/kubeflap\.\n$`)
	d.until(d.cluster.Kubeconfig, `^No incidents \(namespace shop\)\. Read from `, "-n", tenant)
	d.until(d.cluster.Kubeconfig, `services "kubeflop" not found|no endpoints available for service "kubeflop"`, "--service="+namespace+"/kubeflop")
}

// grant gives the account reader a permission in kubeflap's namespace.
func (d *desk) grant(name string, rule ...string) {
	d.kubectl(append([]string{"create", "role", name, "--namespace", namespace}, rule...)...)
	d.kubectl("create", "rolebinding", name, "--role="+name, "--serviceaccount="+tenant+":reader", "--namespace", namespace)
}

// incident pauses a kubelet until its node is Unknown, and checks the incident in every output format.
func (d *desk) incident(address string) {
	admin := d.cluster.Kubeconfig
	d.cluster.Kubelets["node-2"].Pause()
	d.until(admin, `(?m)^ID +STATE +BEGAN \(UTC\) +LASTED +WHAT +HIT +VERDICT\n[0-9a-f]{8}  ongoing .*  node node-2 +2 addresses of shop/web, down .* the node or its kubelet\n`)
	d.cluster.Kubelets["node-2"].Resume()
	const recovered = `\n([0-9a-f]{8})  recovered `
	id := regexp.MustCompile(recovered).FindStringSubmatch(d.until(admin, recovered))[1]

	d.until(admin, `(?s)^Summary: .*\nFirst step: +Find out what keeps the kubelet on node-2.*\nVerdict: +the node or its kubelet \(node\), because .*\nID: +`+id+
		`.*\n  shop/web lost 2 ready addresses, .*node-2: heartbeats resumed`, id)
	d.until(admin, `\n`+id+`[0-9a-f]{8} .* node_heartbeat_lost +Node node-2 sent no heartbeat`, "-o", "wide")
	d.until(admin, `\n`+id, "-n", tenant)
	d.until(admin, "no incident has an ID that begins with abad1dea", "abad1dea")
	var fromJSON struct{ ID, Subject string }
	out, _, _ := d.kubeflapSays(admin, "incidents", id, "--output=json")
	steps.Must(json.Unmarshal([]byte(out), &fromJSON))
	if !strings.HasPrefix(fromJSON.ID, id) || fromJSON.Subject != "node-2" {
		d.t.Errorf("the incident as JSON: %v", fromJSON)
	}
	reported := compare.Incidents(d.ctx, "http://"+address)
	if len(reported.Incidents) != 1 || reported.Incidents[0].ID != fromJSON.ID {
		d.t.Errorf("unexpected incidents in the API: %v", reported)
	}
}

// advise starts `kubeflap advise`. The returned function interrupts it, and checks its status, log and output.
func (d *desk) advise() (interrupt func()) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(d.ctx, d.kubeflap, "advise", "--for=1h", "--kubeconfig="+d.cluster.Kubeconfig)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	steps.Must(cmd.Start())
	return func() {
		steps.Must(cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // the exit status is more specific
		pattern := regexp.MustCompile(`msg="interrupted: the advice is based on less time than --for" observed=\S+ for=1h0m0s\n`)
		if status := cmd.ProcessState.ExitCode(); status != 3 || !pattern.MatchString(errOut.String()) {
			d.t.Errorf("status %d, or the log does not mention the interruption:\n%s", status, errOut.String())
		}
		if !strings.HasPrefix(out.String(), "3 nodes, grace period 24s, ") {
			d.t.Errorf("unexpected advice:\n%s", out.String())
		}
	}
}
