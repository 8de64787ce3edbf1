package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
)

// profiler is a source file that is added to kubeflap's main package. It records a CPU profile from the start of the
// process until a request for /first. kubeflap's own pprof endpoints (--web.enable-pprof) start to record only when
// they receive a request.
const profiler = `package main

import (
	"bytes"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/pprof"
)

func init() {
	address := os.Getenv("KUBEFLAP_PROFILER")
	if address == "" {
		return
	}
	var first bytes.Buffer
	if err := pprof.StartCPUProfile(&first); err != nil {
		panic(err)
	}
	http.HandleFunc("/first", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		_, _ = w.Write(first.Bytes())
	})
	go func() { panic(http.ListenAndServe(address, nil)) }()
}
`

// buildProfiled builds kubeflap with the profiler. The parameter source is the directory of kubeflap's source code.
func buildProfiled(ctx context.Context, source, dir string) (string, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return "", fmt.Errorf("find the source: %w", err)
	}
	added, overlay, binary := filepath.Join(dir, "profiler.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "kubeflap")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(source, "cmd/kubeflap/profiler.go"): added}})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	for path, text := range map[string]string{added: profiler, overlay: string(replace)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write the profiler: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", binary, "./cmd/kubeflap")
	cmd.Dir = source
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kubeflap with a profiler: %w\n%s", err, output)
	}
	return binary, nil
}

// profile writes heap profiles and CPU profiles of kubeflap to a directory. The CPU profiles cover the startup, the
// handling of events under load, and continuous scrapes.
func (o Options) profile(ctx context.Context, size Size) error {
	dir, err := os.MkdirTemp("", "kubeflap-bench-")
	if err != nil {
		return fmt.Errorf("create a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	binary, err := buildProfiled(ctx, o.Source, dir)
	if err != nil {
		return err
	}
	data, err := o.populated(ctx, size)
	if err != nil {
		return err
	}
	return withLoad(ctx, o.Log, size, data, func(ctx context.Context, c *cluster.Cluster, l *load) error {
		p := newProgram(Kubeflap, binaries{kubeflap: binary})
		p.profiled = true
		r, err := p.start(c)
		if err != nil {
			return err
		}
		defer r.process.Stop()
		if _, err := r.untilSynced(ctx, size); err != nil {
			return err
		}
		m := &measurement{pace: o.Pace, cluster: c, load: l, running: r, scraper: o.scraper, figures: Figures{}}
		cpu := fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", max(1, o.Pace.Load.Seconds()))
		keep := func(ctx context.Context, name, path string) error {
			return r.keepProfile(ctx, path, filepath.Join(o.Profiles, size.Name+"-"+name+".pprof"))
		}
		if err := keep(ctx, "sync", "/first"); err != nil {
			return err
		}
		if err := keep(ctx, "heap", "/debug/pprof/heap?gc=1"); err != nil {
			return err
		}
		if _, err := m.underLoad(ctx, func(ctx context.Context) error { return keep(ctx, "events", cpu) }); err != nil {
			return err
		}
		if err := m.whileScraped(ctx, func(ctx context.Context) error { return keep(ctx, "scrapes", cpu) }); err != nil {
			return err
		}
		return keep(ctx, "heap-scraped", "/debug/pprof/heap?gc=1")
	})
}

// whileScraped runs the function do. In the meantime, it scrapes the program without pauses.
func (m *measurement) whileScraped(ctx context.Context, do func(context.Context) error) error {
	scraping, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for scraping.Err() == nil {
			if _, _, err := m.scraper.scrape(m.running, ""); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		defer stop()
		return do(ctx)
	})
	return group.Wait()
}

func (r *running) keepProfile(ctx context.Context, path, file string) error {
	profile, err := fetch.Body(ctx, r.telemetry+path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, profile, 0o644); err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	return nil
}
