package main

import (
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flap"
	"github.com/kubeflap/kubeflap/exporter/metrics"
)

// house is the way through: what comes in at fold.Apply can be read from collector.
type house struct {
	fold      *flap.Fold
	collector *metrics.Collector
}

// newHouse makes a house whose answers are as of now(). report gets each finding too.
func newHouse(settings flap.Settings, now func() time.Time, report func(flap.Finding)) *house {
	collector := metrics.NewCollector()
	fold := flap.New(settings, func(x flap.Finding) {
		collector.Observe(x)
		report(x)
	})
	collector.Read(fold, now)
	return &house{fold, collector}
}

// clusterLabel tells apart several clusters in one /metrics, as Prometheus users do.
const clusterLabel = "cluster"

// registerAs adds the house's metrics to a registry, with the name of its cluster if it has one.
func (h *house) registerAs(registry prometheus.Registerer, cluster string) {
	if cluster != "" {
		registry = prometheus.WrapRegistererWith(prometheus.Labels{clusterLabel: cluster}, registry)
	}
	registry.MustRegister(h.collector)
}

// foldFlags are the flags of the fold's settings.
type foldFlags struct {
	settings flap.Settings
	source   string
}

const (
	sourceAuto           = "auto"
	sourceEndpointSlices = "endpointslices"
	sourceEndpoints      = "endpoints"
)

func addFoldFlags(cmd *kingpin.CmdClause) *foldFlags {
	f := &foldFlags{}
	cmd.Flag("node-monitor-grace-period",
		"The kube-controller-manager's flag of this name. 0s finds it out: from its pod, from what is seen, or by the server's version.").
		Default("0s").SetValue(named{(*positiveDuration)(&f.settings.GracePeriod), "node-monitor-grace-period"})
	cmd.Flag("bounce-window", "How soon an address must be back in rotation to count as a bounce.").
		Default("2m").SetValue(named{(*positiveDuration)(&f.settings.BounceWindow), "bounce-window"})
	cmd.Flag("endpoints.source", "Where the states of addresses are read from: auto takes EndpointSlices where the cluster has them, else Endpoints.").
		Default(sourceAuto).SetValue(named{choice{&f.source, []string{sourceAuto, sourceEndpointSlices, sourceEndpoints}}, "endpoints.source"})
	return f
}

func (f *foldFlags) parsed() flap.Settings {
	settings := f.settings
	switch f.source {
	case sourceEndpointSlices:
		settings.AddressSource = event.KindEndpointSlice
	case sourceEndpoints:
		settings.AddressSource = event.KindEndpoints
	}
	return settings
}
