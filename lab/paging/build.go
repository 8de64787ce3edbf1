package paging

import (
	"context"
	_ "embed" // the module files are part of the lab, so that it builds from any folder
	"log/slog"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Only what is read at build time is embedded; no variable here is ever written.
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

// noPage stands for Alertmanager's own pages, which its module embeds but is published without.
const noPage = `<!doctype html><title>Alertmanager</title>
<p>This Alertmanager is built from its Go module, which has no pages: <a href="api/v2/alerts/groups">what it tells its API's users</a>.
`

// Build returns the programs of both, built once for each version and kept in the user's
// cache, apart from those of the cluster.
func Build(ctx context.Context, log *slog.Logger) (prometheus, alertmanager string, err error) {
	binaries, err := cluster.BuildModules(ctx, log, "prometheus", []cluster.Module{{
		Mod: prometheusMod, Sum: prometheusSum, LDFlags: "-s -w",
		// The clients of every cloud would take longer than all the rest.
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
