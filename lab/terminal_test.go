package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// TestTerminal runs the commands for a terminal against a cluster in which kubeflap is installed with its chart. They find its Service and
// read through the proxy of the API server, with no more than the documented permissions.
func TestTerminal(t *testing.T) {
	t.Parallel()
	kubeflap := buildKubeflap(t)
	for _, release := range releases(t) {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, kubeflap, release)
			d.install()
			d.permissions()
			changes := d.start("watch", "--kubeconfig="+d.cluster.Kubeconfig)
			advice := d.start("advise", "--for=1h", "--kubeconfig="+d.cluster.Kubeconfig)
			d.incident()
			d.plugin()
			d.changed(changes)
			d.advised(advice)
			d.closed()
		})
	}
}

// desk is where somebody works on a cluster with a terminal.
type desk struct {
	t        *testing.T
	ctx      context.Context
	cluster  *cluster.Cluster
	kubeflap string
	// address and probes are where kubeflap listens, on the node's address.
	address, probes string
	// account is the kubeconfig of kubeflap's account, run the process with it.
	account string
	run     *cluster.Process
}

func newDesk(t *testing.T, kubeflap string, release cluster.Release) *desk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	c, err := cluster.Start(ctx, cluster.Options{
		Release: release, Nodes: 3, Log: logger(t), ControllerManagerPod: true,
		ControllerManagerFlags: []string{"--node-monitor-grace-period=24s", "--node-monitor-period=1s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return &desk{t: t, ctx: ctx, cluster: c, kubeflap: kubeflap, address: nodeAddress(ctx, t, c), probes: nodeAddress(ctx, t, c)}
}

// nodeAddress is a free port at the address that the nodes have, which is this machine's.
func nodeAddress(ctx context.Context, t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	node, err1 := c.Client.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	free, err2 := cluster.FreePort()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free)
	return net.JoinHostPort(node.Status.Addresses[0].Address, port)
}

// must is for what is no part of the test.
func (d *desk) must(errs ...error) {
	d.t.Helper()
	if err := errors.Join(errs...); err != nil {
		d.t.Fatal(err)
	}
}

// install installs the chart in the network of a node, and binds its pod to that, because the cluster has no scheduler. The kubelet probes
// the pod and calls it ready, although its containers are only remembered: kubeflap runs beside the cluster, with the account and at the
// address of the pod.
func (d *desk) install() {
	d.t.Helper()
	_, port, _ := net.SplitHostPort(d.address)
	_, probes, _ := net.SplitHostPort(d.probes)
	runHelm(d.ctx, d.t, d.cluster, namespace, "install", "kubeflap", "../charts/kubeflap", "--create-namespace",
		"--set", "hostNetwork=true,replicas=1,containerPort="+port+",probePort="+probes)
	var err error
	d.account, err = d.cluster.AccountKubeconfig(d.ctx, namespace, "kubeflap")
	d.must(err, d.serve())
	pods := d.cluster.Client.CoreV1().Pods(namespace)
	d.must(poll.Until(d.ctx, time.Minute, "the chart's pod", func(ctx context.Context) error {
		all, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=kubeflap"})
		if err != nil || len(all.Items) == 0 {
			return fmt.Errorf("there is none: %w", err)
		}
		meta := metav1.ObjectMeta{Name: all.Items[0].Name}
		return pods.Bind(ctx, &corev1.Binding{ObjectMeta: meta, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}, metav1.CreateOptions{})
	}))
	d.makeWeb()
}

// serve starts kubeflap, and waits until it is ready.
func (d *desk) serve(args ...string) (err error) {
	args = append([]string{"run", "--kubeconfig=" + d.account, "--web.listen-address=" + d.address, "--web.probe-address=" + d.probes}, args...)
	d.run, err = cluster.StartProcess("kubeflap", filepath.Join(d.t.TempDir(), "kubeflap.log"), cluster.Command{Path: d.kubeflap, Args: args})
	if err != nil {
		return err
	}
	d.t.Cleanup(d.run.Stop)
	ready := func(ctx context.Context) error { return compare.Ready(ctx, "http://"+d.probes) }
	return d.run.Until(d.ctx, time.Minute, "kubeflap to be ready", ready)
}

// makeWeb makes a Service with two pods on node-2.
func (d *desk) makeWeb() {
	d.t.Helper()
	labels := map[string]string{"app": "web"}
	_, err1 := d.cluster.Client.CoreV1().Namespaces().Create(d.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}, metav1.CreateOptions{})
	_, err2 := d.cluster.Client.CoreV1().Services(tenant).Create(d.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	d.must(err1, err2)
	no := false
	for _, name := range []string{"web-1", "web-2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{
			NodeName: "node-2", AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "web", Image: "web"}},
		}}
		_, err := d.cluster.Client.CoreV1().Pods(tenant).Create(d.ctx, pod, metav1.CreateOptions{})
		d.must(err)
	}
	d.must(poll.Until(d.ctx, time.Minute, "two ready addresses", func(ctx context.Context) error {
		found, err := d.cluster.Client.CoreV1().Endpoints(tenant).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (len(found.Subsets) != 1 || len(found.Subsets[0].Addresses) != 2) {
			err = fmt.Errorf("it has %v", found.Subsets)
		}
		return err
	}))
}

// kubeflapSays runs a command, and returns its output, its errors and its status.
func (d *desk) kubeflapSays(kubeconfig string, args ...string) (out, errOut string, status int) {
	d.t.Helper()
	cmd := exec.CommandContext(d.ctx, d.kubeflap, append(args, "--kubeconfig="+kubeconfig)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its status says more
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// until runs incidents until its output matches.
func (d *desk) until(kubeconfig, pattern string, args ...string) string {
	d.t.Helper()
	var out string
	d.must(poll.Until(d.ctx, time.Minute, "output that matches "+pattern, func(context.Context) error {
		var errOut string
		out, errOut, _ = d.kubeflapSays(kubeconfig, append([]string{"incidents"}, args...)...)
		if !regexp.MustCompile(pattern).MatchString(out + errOut) {
			return fmt.Errorf("it is:\n%s%s", out, errOut)
		}
		return nil
	}))
	return out
}

// permissions gives a user one permission after the other.
func (d *desk) permissions() {
	d.t.Helper()
	accounts := d.cluster.Client.CoreV1().ServiceAccounts(tenant)
	_, err := accounts.Create(d.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{})
	d.must(err)
	reader, err := d.cluster.AccountKubeconfig(d.ctx, tenant, "reader")
	d.must(err)
	const named = "--service=" + namespace + "/kubeflap"
	d.until(reader, `cannot look for the Service of kubeflap: .* cannot list resource "services" .* in the namespace "default": name it with --service`)
	d.until(reader, `cannot get resource "services/proxy" .* \(grant the verb get on the resource services/proxy in the namespace monitoring\)`, named)

	d.grant("proxy", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services/proxy"}, ResourceNames: []string{"kubeflap:http"}, Verbs: []string{"get"}})
	d.until(reader, `^No incidents.\n$`, named)
	d.until(reader, `cannot look for the Service of kubeflap`)

	d.grant("list", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}})
	d.until(reader, `^No incidents that affected a Service in the namespace monitoring.\n$`, "-n", namespace)
	d.until(d.cluster.Kubeconfig, `^No incidents.\n$`)
	d.until(d.cluster.Kubeconfig, `^No incidents that affected a Service in the namespace shop.\n$`, "-n", tenant)
	d.until(d.cluster.Kubeconfig, `services "kubeflop" not found|no endpoints available for service "kubeflop"`, "--service="+namespace+"/kubeflop")
}

// grant lets the reader do something in kubeflap's namespace.
func (d *desk) grant(name string, rule rbacv1.PolicyRule) {
	d.t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	_, err1 := d.cluster.Client.RbacV1().Roles(namespace).Create(d.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	_, err2 := d.cluster.Client.RbacV1().RoleBindings(namespace).Create(d.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: tenant, Name: "reader"}},
	}, metav1.CreateOptions{})
	d.must(err1, err2)
}

// incident stops a kubelet until its node is Unknown, and reads of it in every form.
func (d *desk) incident() {
	d.t.Helper()
	admin := d.cluster.Kubeconfig
	d.must(d.cluster.Kubelets["node-2"].Pause())
	d.until(admin, `(?m)^ID +STATE +AGE +LASTED +VERDICT +WHAT +HIT\n[0-9a-f]{8}  running .*  node +node-2 +2 addresses of shop/web, down `)
	d.greeted()
	d.must(d.cluster.Kubelets["node-2"].Resume())
	table := d.until(admin, `\n[0-9a-f]{8}  recovered `)
	id := strings.Fields(table)[7]

	d.until(admin, `(?s)^ID: +`+id+`.*\nVerdict: +node, because .*\nRemedy: +Find out what keeps the kubelet on node-2.*\n  shop/web  2 .*node-2: heartbeat again`, id)
	d.until(admin, `\n`+id+`[0-9a-f]{8} .* node_heartbeat_lost +Node node-2 sent no heartbeat`, "-o", "wide")
	d.until(admin, `\n`+id, "-n", tenant)
	d.until(admin, "none of 1 incidents has an ID that begins with nope", "nope")
	var fromJSON, fromYAML struct {
		ID, Subject string
		Services    []struct{ Service string }
	}
	out, _, _ := d.kubeflapSays(admin, "incidents", id, "--output=json")
	d.must(json.Unmarshal([]byte(out), &fromJSON))
	out, _, _ = d.kubeflapSays(admin, "incidents", id, "--output=yaml")
	d.must(yaml.Unmarshal([]byte(out), &fromYAML))
	if !strings.HasPrefix(fromJSON.ID, id) || fromJSON.Subject != "node-2" || fromYAML.ID != fromJSON.ID || !slices.Equal(fromYAML.Services, fromJSON.Services) {
		d.t.Errorf("JSON has %v, YAML has %v", fromJSON, fromYAML)
	}
	told, err := compare.Incidents(d.ctx, "http://"+d.address)
	d.must(err)
	if len(told.Incidents) != 1 || told.Incidents[0].ID != fromJSON.ID {
		d.t.Errorf("the API has %v", told)
	}
}

// closed restarts kubeflap with TLS, which the commands find out, and then with a password, which the API server does not pass on.
func (d *desk) closed() {
	d.t.Helper()
	// The API server has a certificate, and does not check that of a Service.
	certificate := d.cluster.Config.CAFile
	text := fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n", certificate, strings.TrimSuffix(certificate, "crt")+"key")
	for config, pattern := range map[string]string{
		text: `^No incidents.\n$`,
		text + "basic_auth_users: {me: $2y$05$DxDjQlzDzLmGJTTHMAHRKOe5rvFKMm3OScsKC79pACBN2IKrGoMQ6}\n": `service monitoring/kubeflap asks for a password or a certificate`,
	} {
		file := filepath.Join(d.t.TempDir(), "web.yml")
		d.must(os.WriteFile(file, []byte(config), 0o600))
		d.run.Stop()
		d.must(d.serve("--web.config.file=" + file))
		d.until(d.cluster.Kubeconfig, pattern)
	}
}
