package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/poll"
)

// background is a command that runs until it is interrupted, and its output.
type background struct {
	*exec.Cmd
	out, errOut bytes.Buffer
}

func (d *desk) start(args ...string) *background {
	d.t.Helper()
	b := &background{Cmd: exec.CommandContext(d.ctx, d.kubeflap, args...)}
	b.Stdout, b.Stderr = &b.out, &b.errOut
	d.must(b.Start())
	return b
}

// interrupt ends the command, and returns its exit status.
func (d *desk) interrupt(b *background) int {
	d.t.Helper()
	d.must(b.Process.Signal(os.Interrupt))
	_ = b.Wait() // the exit status is more specific
	return b.ProcessState.ExitCode()
}

// greeted starts `kubeflap watch` while a node is Unknown. The output must begin with the nodes and Services that are
// not ready.
func (d *desk) greeted() {
	d.t.Helper()
	b := d.start("watch", "--kubeconfig="+d.cluster.Kubeconfig)
	d.must(poll.Sleep(d.ctx, 5*time.Second))
	status := d.interrupt(b)
	out := b.out.String()
	for _, want := range []string{"Watching 3 nodes and ", "\nNot Ready now: node-2\n", "\nWithout a ready address now: shop/web\n"} {
		if status != 0 || !strings.Contains(out, want) {
			d.t.Errorf("status %d, want output that contains %q:\n%s%s", status, want, out, b.errOut.String())
		}
	}
}

// changed checks the lines that `kubeflap watch` printed about the incident.
func (d *desk) changed(b *background) {
	d.t.Helper()
	status := d.interrupt(b)
	rest := b.out.String()
	for _, pattern := range []string{
		`(?m)^Watching 3 nodes and \d Services. Times are UTC. Press Ctrl-C to stop.$`,
		`(?m)^[\d:.]+  node node-2: no heartbeat for 24s \(the whole grace period\)`,
		`(?m)^[\d:.]+  >>> INCIDENT, verdict \w+: Node node-2 sent no heartbeat for `,
		`(?m)^[\d:.]+  service shop/web: no ready address left: node_heartbeat_lost( \[happened at [\d:.]+\])?$`,
		`(?m)^[\d:.]+  service shop/web: has a ready address again after .* without any: node_heartbeat_lost( \[happened at [\d:.]+\])?$`,
		`(?m)^[\d:.]+  <<< (STILL RECOVERED|RESOLVED after [\d.ms]+): verdict node. Node node-2 .*; shop/web lost 2 ready addresses and had none for .*\n            Remedy: Find out what keeps the kubelet on node-2`,
	} {
		at := regexp.MustCompile(pattern).FindStringIndex(rest)
		if status != 0 || at == nil {
			d.t.Fatalf("status %d, and no line matches %s after the previous ones in\n%s%s", status, pattern, b.out.String(), b.errOut.String())
		}
		rest = rest[at[1]:]
	}
	if log := b.errOut.String(); !strings.Contains(log, `msg="starting kubeflap" context=lab server=`+d.cluster.Config.Host) {
		d.t.Errorf("the log does not name the cluster:\n%s", log)
	}
}

// advised interrupts `kubeflap advise`, and checks its status, log and output.
func (d *desk) advised(b *background) {
	d.t.Helper()
	status := d.interrupt(b)
	if log := b.errOut.String(); status != 3 || !regexp.MustCompile(`msg="interrupted: the advice is based on less time than --for" observed=\S+ for=1h0m0s\n`).MatchString(log) {
		d.t.Errorf("status %d, or the log does not mention the interruption:\n%s", status, log)
	}
	if out := b.out.String(); !strings.HasPrefix(out, "3 nodes, grace period 24s, ") {
		d.t.Errorf("unexpected advice:\n%s", out)
	}
}

// plugin runs kubeflap as the kubectl plugin kubectl-flap. kubectl passes on the arguments.
func (d *desk) plugin() {
	d.t.Helper()
	dir := d.t.TempDir()
	d.must(os.Symlink(d.kubeflap, filepath.Join(dir, "kubectl-flap")))
	kubectl, err := filepath.Abs("../bin/kubectl")
	d.must(err)
	for args, pattern := range map[string]string{
		"flap":                     `^ID +STATE +AGE +LASTED +VERDICT +WHAT +HIT\n[0-9a-f]{8}  \w+ .* node-2 `,
		"flap -n shop -owide":      ` node_heartbeat_lost +Node node-2 `,
		"flap --context lab watch": `^kubectl flap: --context=lab: no cluster is configured`,
		"flap --help":              `^usage: kubectl flap `,
		"plugin list":              `/kubectl-flap\n`,
	} {
		cmd := exec.CommandContext(d.ctx, kubectl, strings.Fields(args)...)
		kubeconfig := d.cluster.Kubeconfig
		if strings.Contains(args, "watch") {
			kubeconfig = os.DevNull // with a cluster, watch would run until interrupted
		}
		cmd.Env = []string{"PATH=" + dir, "KUBECONFIG=" + kubeconfig, "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		if !regexp.MustCompile(pattern).Match(out) {
			d.t.Errorf("kubectl %s: %v, and the output does not match %s:\n%s", args, err, pattern, out)
		}
	}
}
