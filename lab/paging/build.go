package paging

import (
	"context"
	_ "embed" // embeds the module files, so that the lab works in any directory
	"log/slog"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// These variables hold embedded files.
var (
	//go:embed prometheus.mod
	prometheusMod string
	//go:embed prometheus.sum
	prometheusSum string
	//go:embed alertmanager.mod
	alertmanagerMod string
	//go:embed alertmanager.sum
	alertmanagerSum string
)

// noPage replaces Alertmanager's web page, which Alertmanager's published Go module does not contain.
const noPage = `<!doctype html><title>Alertmanager</title>
<p>This Alertmanager is built from its Go module, which has no pages: <a href="api/v2/alerts/groups">see the alerts in its API</a>.
`

// Build returns the paths of Prometheus and Alertmanager. Each version is built once and kept in the user's cache.
func Build(ctx context.Context, log *slog.Logger) (prometheus, alertmanager string, err error) {
	binaries, err := cluster.BuildModules(ctx, log, "prometheus", []cluster.Module{{
		Mod: prometheusMod, Sum: prometheusSum, LDFlags: "-s -w",
		// Omit service discovery for clouds. It would take longer to compile than everything else together.
		Tags:     "remove_all_sd,enable_kubernetes_sd",
		Programs: map[string][]string{"prometheus": {"github.com/prometheus/prometheus/cmd/prometheus"}},
	}})
	if err != nil {
		return "", "", err
	}
	prometheus = binaries.Path("prometheus")
	binaries, err = cluster.BuildModules(ctx, log, "alertmanager", []cluster.Module{{
		Mod: alertmanagerMod, Sum: alertmanagerSum, LDFlags: "-s -w",
		Programs:  map[string][]string{"alertmanager": {"github.com/prometheus/alertmanager/cmd/alertmanager"}},
		Completes: "github.com/prometheus/alertmanager",
		Files:     map[string]string{"ui/app/dist/index.html": noPage},
	}})
	return prometheus, binaries.Path("alertmanager"), err
}
