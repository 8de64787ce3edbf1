package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// clusterFlags holds the flags that select a cluster. kubectl has flags with the same names.
type clusterFlags struct{ kubeconfig, context, cluster, user, namespace *string }

func addClusterFlags(cmd *kingpin.CmdClause, namespaceHelp string) clusterFlags {
	return clusterFlags{
		kubeconfig: cmd.Flag("kubeconfig", "Path of a kubeconfig file. The default is $KUBECONFIG, then ~/.kube/config, then the service account of the pod.").
			String(),
		context:   cmd.Flag("context", "The kubeconfig context to use instead of the current one.").PlaceHolder("NAME").String(),
		cluster:   cmd.Flag("cluster", "The kubeconfig cluster to use instead of the one in the context.").PlaceHolder("NAME").String(),
		user:      cmd.Flag("user", "The kubeconfig user to use instead of the one in the context.").PlaceHolder("NAME").String(),
		namespace: cmd.Flag("namespace", namespaceHelp).Short('n').String(),
	}
}

// watchedNamespace is the help text of --namespace for commands that watch a cluster.
const watchedNamespace = "Watch only this namespace. If permitted, also watch nodes and their Leases. Requires no cluster-wide permissions."

// given returns true if any of the flags that select a cluster is set.
func (f clusterFlags) given() bool { return *f.kubeconfig+*f.context+*f.cluster+*f.user != "" }

// load loads the kubeconfig.
func (f clusterFlags) load() (apiclient.Config, error) {
	choice := apiclient.Choice{Kubeconfig: *f.kubeconfig, Context: *f.context, Cluster: *f.cluster, User: *f.user}
	return apiclient.LoadConfig(choice, "kubeflap/"+version.Version)
}

// pipelineFlags holds the flags of a pipeline.
type pipelineFlags struct {
	tracker   *trackerFlags
	incidents positiveInt
}

func addPipelineFlags(cmd *kingpin.CmdClause) *pipelineFlags {
	f := &pipelineFlags{tracker: addTrackerFlags(cmd)}
	addFlag(cmd, "incidents.size", "Maximum number of incidents to keep. The oldest are dropped first.", "500", &f.incidents)
	return f
}

func (f *pipelineFlags) settings() settings { return settings{f.tracker.settings(), int(f.incidents)} }

// trackerFlags holds the flags of the tracker.
type trackerFlags struct {
	gracePeriod, bounceWindow positiveDuration
	source                    string
	knownManagers             managers
}

const (
	sourceAuto           = "auto"
	sourceEndpointSlices = "endpointslices"
	sourceEndpoints      = "endpoints"
)

func addTrackerFlags(cmd *kingpin.CmdClause) *trackerFlags {
	f := &trackerFlags{}
	addFlag(cmd, "node-monitor-grace-period", "The --node-monitor-grace-period of the kube-controller-manager. "+
		"With 0s, kubeflap reads the value from the kube-controller-manager's pod. Failing that, it measures the value or uses the default for the server's version.", "0s", &f.gracePeriod)
	addFlag(cmd, "bounce-window", "If a lost address is ready again within this time, the loss counts as a bounce.", "2m", &f.bounceWindow)
	addFlag(cmd, "endpoints.source", "Source of address states. auto uses EndpointSlices if the cluster has them, otherwise Endpoints.",
		sourceAuto, choice{&f.source, []string{sourceAuto, sourceEndpointSlices, sourceEndpoints}})
	cmd.Flag("endpoints.known-manager", "An additional manager whose EndpointSlices kubeflap accepts for Services with a selector. "+
		"Use the value of the label endpointslice.kubernetes.io/managed-by. docs/verdicts.md lists the default managers. Can be repeated.").PlaceHolder("NAME").SetValue(&f.knownManagers)
	return f
}

func trackerDefaults() trackerFlags {
	return trackerFlags{bounceWindow: positiveDuration(2 * time.Minute), source: sourceAuto}
}

func (f *trackerFlags) settings() track.Settings {
	settings := track.Settings{GracePeriod: time.Duration(f.gracePeriod), BounceWindow: time.Duration(f.bounceWindow), KnownManagers: f.knownManagers.all()}
	switch f.source {
	case sourceEndpointSlices:
		settings.AddressSource = event.KindEndpointSlice
	case sourceEndpoints:
		settings.AddressSource = event.KindEndpoints
	}
	return settings
}

// addFlag adds a flag whose parse errors contain the flag's name.
func addFlag(cmd *kingpin.CmdClause, name, help, value string, into kingpin.Value) {
	cmd.Flag(name, help).Default(value).SetValue(named{into, name})
}

// named is a flag value whose errors contain the flag's name.
type named struct {
	kingpin.Value
	flag string
}

// Set implements kingpin.Value.
func (n named) Set(s string) error {
	if err := n.Value.Set(s); err != nil {
		return fmt.Errorf("--%s: %w", n.flag, err)
	}
	return nil
}

// choice is a flag value from a fixed set of words.
type choice struct {
	word  *string
	words []string
}

// Set implements kingpin.Value.
func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(c.words, ", "))
	}
	*c.word = s
	return nil
}

// String implements kingpin.Value.
func (c choice) String() string { return *c.word }

// managers holds the names from all occurrences of --endpoints.known-manager, separated by commas.
type managers string

// Set implements kingpin.Value.
func (m *managers) Set(s string) error {
	if s == "" || strings.ContainsAny(s, ", ") {
		return fmt.Errorf("--endpoints.known-manager: %q is not a single manager name", s)
	}
	*m = managers(strings.TrimPrefix(string(*m)+","+s, ","))
	return nil
}

// String implements kingpin.Value.
func (m *managers) String() string { return string(*m) }

// IsCumulative allows the flag to be repeated.
func (m *managers) IsCumulative() bool { return true }

func (m *managers) all() []string {
	return strings.FieldsFunc(string(*m), func(r rune) bool { return r == ',' })
}

// positiveDuration is a flag value for a duration of at least 0, in the format of Prometheus or Go, such as 1m30s,
// 500ms or 1d.
type positiveDuration time.Duration

// Set implements kingpin.Value.
func (d *positiveDuration) Set(s string) error {
	parsed, err := time.ParseDuration(s)
	if err != nil {
		long, modelErr := model.ParseDuration(s)
		if modelErr != nil {
			return fmt.Errorf("%q is not a duration such as 30s or 2m", s)
		}
		parsed = time.Duration(long)
	}
	if parsed < 0 {
		return fmt.Errorf("%q is negative", s)
	}
	*d = positiveDuration(parsed)
	return nil
}

// String implements kingpin.Value.
func (d *positiveDuration) String() string { return time.Duration(*d).String() }

// positiveInt is a flag value for an integer above 0.
type positiveInt int

// Set implements kingpin.Value.
func (n *positiveInt) Set(s string) error {
	parsed, err := strconv.Atoi(s)
	if err != nil || parsed < 1 {
		return fmt.Errorf("%q is not a whole number above 0", s)
	}
	*n = positiveInt(parsed)
	return nil
}

// String implements kingpin.Value.
func (n *positiveInt) String() string { return strconv.Itoa(int(*n)) }

// speed is a flag value for a finite number above 0.
type speed float64

// Set implements kingpin.Value.
func (v *speed) Set(s string) error {
	parsed, err := strconv.ParseFloat(s, 64)
	if err != nil || !(parsed > 0) || math.IsInf(parsed, 0) {
		return fmt.Errorf("%q is not a number above 0", s)
	}
	*v = speed(parsed)
	return nil
}

// String implements kingpin.Value.
func (v *speed) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }
