package main

import (
	"bytes"
	"context"
	_ "embed" // embeds the module files, so that the lab works in any directory
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// These are the names of the programs to compare.
const (
	Kubeflap = "kubeflap"
	Peer     = "kube-state-metrics, allowlist"
	Floor    = "floor, Transformer"
)

// Programs returns the names of all programs, in the order of the table's columns.
func Programs() []string {
	return []string{Kubeflap, Peer, Floor}
}

// allowed is the list of readiness metrics of kube-state-metrics. The comparison is fairest with only these metrics.
const allowed = "kube_node_status_condition,kube_lease_renew_time,kube_endpoint_address,kube_pod_status_ready,kube_pod_status_ready_time," +
	"kube_endpointslice_endpoints,kube_service_info"

// program is a program that the benchmark measures.
type program struct {
	name string
	path string
	// args returns the program's arguments. Programs without an HTTP server ignore address and telemetry.
	args func(kubeconfig, address, telemetry string) []string
	// synced returns nil if the program has seen all objects.
	synced func(ctx context.Context, r *running, size Size) error
	// metrics is set if the program serves metrics.
	metrics bool
}

type binaries struct{ kubeflap, peer, floor string }

func newProgram(name string, b binaries) program {
	switch name {
	case Kubeflap:
		return kubeflapProgram(b.kubeflap)
	case Peer:
		return program{name: name, path: b.peer, metrics: true, args: peerArgs, synced: peerSynced}
	default:
		args := func(kubeconfig, _, _ string) []string { return []string{"--kubeconfig=" + kubeconfig} }
		return program{name: name, path: b.floor, synced: floorSynced, args: args}
	}
}

// kubeflapProgram returns kubeflap with additional flags.
func kubeflapProgram(path string, flags ...string) program {
	return program{
		name: Kubeflap, path: path, metrics: true,
		args: func(kubeconfig, address, _ string) []string {
			return append([]string{"run", "--kubeconfig=" + kubeconfig, "--web.listen-address=" + address}, flags...)
		},
		synced: func(ctx context.Context, r *running, _ Size) error { return compare.Ready(ctx, r.url) },
	}
}

func peerArgs(kubeconfig, address, telemetry string) []string {
	host, port, _ := net.SplitHostPort(address)
	telemetryHost, telemetryPort, _ := net.SplitHostPort(telemetry)
	return []string{
		"--kubeconfig=" + kubeconfig, "--resources=nodes,leases,pods,services,endpoints,endpointslices", "--enable-gzip-encoding", "--metric-allowlist=" + allowed,
		"--host=" + host, "--port=" + port, "--telemetry-host=" + telemetryHost, "--telemetry-port=" + telemetryPort,
	}
}

// peerSynced returns nil if kube-state-metrics exposes series of all objects. It reads them only when kube-state-metrics
// has listed all six resources, because such a scrape takes much of its CPU time.
func peerSynced(ctx context.Context, r *running, size Size) error {
	const resources = 6
	listed := 0
	err := r.eachLine(ctx, r.telemetry+"/metrics", func(line []byte) {
		if bytes.HasPrefix(line, []byte("kube_state_metrics_list_total{")) && bytes.Contains(line, []byte(`result="success"`)) {
			listed++
		}
	})
	if err == nil && listed < resources {
		err = fmt.Errorf("only %d of %d resources are listed", listed, resources)
	}
	if err != nil {
		return err
	}
	want := map[string]int{
		"kube_node_status_condition": size.Nodes, "kube_lease_renew_time": size.Nodes, "kube_pod_status_ready": size.Pods,
		"kube_service_info": size.Services, "kube_endpoint_address": size.Services, "kube_endpointslice_endpoints": size.Services,
	}
	have := map[string]int{}
	err = r.eachLine(ctx, r.url+"/metrics", func(line []byte) {
		if name, _, found := bytes.Cut(line, []byte("{")); found {
			have[string(name)]++
		}
	})
	for name, n := range want {
		if err == nil && have[name] < n {
			err = fmt.Errorf("got %d series of %s, want at least %d", have[name], name, n)
		}
	}
	return err
}

func floorSynced(_ context.Context, r *running, _ Size) error {
	output, err := os.ReadFile(r.process.LogPath)
	if err != nil {
		return fmt.Errorf("read the floor's output: %w", err)
	}
	if !strings.Contains(string(output), "synced\n") {
		return errors.New("the floor has not printed that it is synced")
	}
	return nil
}

// running is a program that has been started.
type running struct {
	program
	process        *cluster.Process
	proc           procfs.Proc
	url, telemetry string
	began          time.Time
}

// start starts a program that watches a cluster. The caller must stop its process.
func (p program) start(c *cluster.Cluster) *running {
	address, telemetry := cluster.FreePort(), cluster.FreePort()
	r := &running{program: p, url: "http://" + address, telemetry: "http://" + telemetry, began: time.Now()}
	log := c.LogPath(strings.NewReplacer(" ", "-", ",", "").Replace(p.name) + "-" + r.began.Format("150405.000"))
	r.process = cluster.StartProcess(p.name, log, cluster.Command{Path: p.path, Args: p.args(c.Kubeconfig, address, telemetry)})
	proc, err := procfs.NewProc(r.process.PID())
	if err != nil {
		r.process.Stop()
		steps.Must(err)
	}
	r.proc = proc
	return r
}

// usage holds the resources that a process has used so far.
type usage struct {
	at time.Time
	// cpu is in seconds. rss and peak are in bytes.
	cpu, rss, peak float64
}

func (r *running) usage() usage {
	steps.Must(r.process.Alive())
	stat, status := steps.Value(r.proc.Stat()), steps.Value(r.proc.NewStatus())
	return usage{at: time.Now(), cpu: stat.CPUTime(), rss: float64(status.VmRSS), peak: float64(status.VmHWM)}
}

const (
	// syncTimeout is enough for the largest size on a small machine.
	syncTimeout = 15 * time.Minute
	syncPoll    = 20 * time.Millisecond
)

// untilSynced waits until the program has seen all objects. It returns the program's resource usage until then.
func (r *running) untilSynced(ctx context.Context, size Size) usage {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for {
		used := r.usage()
		said := r.synced(ctx, r, size)
		if said == nil {
			return used
		}
		if poll.Sleep(ctx, syncPoll) != nil {
			steps.Must(fmt.Errorf("%s was not synced after %s: %w", r.name, time.Since(r.began).Round(time.Second), said))
		}
	}
}

// PeerVersion is the version of kube-state-metrics in kube-state-metrics.mod.
const PeerVersion = "v2.18.0"

// These variables hold embedded files.
var (
	//go:embed kube-state-metrics.mod
	peerMod string
	//go:embed kube-state-metrics.sum
	peerSum string
)

// buildPeer returns the path of the kube-state-metrics binary. The first build takes minutes. Later calls use the
// binary in the user's cache.
func buildPeer(ctx context.Context, log *slog.Logger) string {
	const name = "kube-state-metrics"
	return cluster.BuildModules(ctx, log, name, []cluster.Module{{
		Mod: peerMod, Sum: peerSum, LDFlags: "-s -w",
		Programs: map[string][]string{name: {"k8s.io/kube-state-metrics/v2"}},
	}}).Path(name)
}

// buildTool builds a program of the lab's module. The working directory must be inside that module.
func buildTool(ctx context.Context, dir, name string) string {
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "github.com/kubeflap/kubeflap/lab/bench/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		steps.Must(fmt.Errorf("build the %s: %w\n%s", name, err, output))
	}
	return path
}
