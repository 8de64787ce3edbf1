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

// clusterFlags choose the cluster to talk to, as kubectl's flags of these names do.
type clusterFlags struct{ kubeconfig, context, cluster, user, namespace *string }

func addClusterFlags(cmd *kingpin.CmdClause, namespaceHelp string) clusterFlags {
	return clusterFlags{
		kubeconfig: cmd.Flag("kubeconfig", "Path of a kubeconfig file. The default is $KUBECONFIG, then ~/.kube/config, then the service account of the pod.").
			String(),
		context:   cmd.Flag("context", "The context of the kubeconfig to use instead of the current one.").PlaceHolder("NAME").String(),
		cluster:   cmd.Flag("cluster", "The cluster of the kubeconfig to use instead of that of the context.").PlaceHolder("NAME").String(),
		user:      cmd.Flag("user", "The user of the kubeconfig to use instead of that of the context.").PlaceHolder("NAME").String(),
		namespace: cmd.Flag("namespace", namespaceHelp).Short('n').String(),
	}
}

// watchedNamespace is the help of --namespace where kubeflap watches.
const watchedNamespace = "Watch only this namespace, and nodes and their Leases if that is allowed. Needs no cluster-wide permission."

// given returns whether a flag chooses a cluster.
func (f clusterFlags) given() bool { return *f.kubeconfig+*f.context+*f.cluster+*f.user != "" }

// load reads the kubeconfig.
func (f clusterFlags) load() (apiclient.Config, error) {
	choice := apiclient.Choice{Kubeconfig: *f.kubeconfig, Context: *f.context, Cluster: *f.cluster, User: *f.user}
	return apiclient.LoadConfig(choice, "kubeflap/"+version.Version)
}

// pipelineFlags configure a pipeline.
type pipelineFlags struct {
	tracker   *trackerFlags
	incidents positiveInt
}

func addPipelineFlags(cmd *kingpin.CmdClause) *pipelineFlags {
	f := &pipelineFlags{tracker: addTrackerFlags(cmd)}
	addFlag(cmd, "incidents.size", "How many incidents are kept. The oldest are dropped first.", "500", &f.incidents)
	return f
}

func (f *pipelineFlags) settings() settings { return settings{f.tracker.settings(), int(f.incidents)} }

// trackerFlags configure the tracker.
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
	addFlag(cmd, "node-monitor-grace-period", "The grace period that the kube-controller-manager uses. "+
		"With 0s, kubeflap takes it from the kube-controller-manager's pod, from what it observes, or from the server's version.", "0s", &f.gracePeriod)
	addFlag(cmd, "bounce-window", "An address that is ready again within this time counts as a bounce.", "2m", &f.bounceWindow)
	addFlag(cmd, "endpoints.source", "Where to read the state of addresses: auto uses EndpointSlices if the cluster has them, else Endpoints.",
		sourceAuto, choice{&f.source, []string{sourceAuto, sourceEndpointSlices, sourceEndpoints}})
	cmd.Flag("endpoints.known-manager", "A manager of EndpointSlices that may add addresses to Services with a selector, in addition to those in docs/incidents.md. "+
		"Its name is in the label endpointslice.kubernetes.io/managed-by. Can be repeated.").PlaceHolder("NAME").SetValue(&f.knownManagers)
	return f
}

// trackerDefaults are the tracker's flags if none is given.
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

// addFlag adds a flag whose errors name it.
func addFlag(cmd *kingpin.CmdClause, name, help, value string, into kingpin.Value) {
	cmd.Flag(name, help).Default(value).SetValue(named{into, name})
}

// named is the value of a flag whose errors name the flag.
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

// choice is a flag that takes one of several words.
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

// managers is a flag that can be repeated: names with a comma between them.
type managers string

// Set implements kingpin.Value.
func (m *managers) Set(s string) error {
	if s == "" || strings.ContainsAny(s, ", ") {
		return fmt.Errorf("--endpoints.known-manager: %q is not the name of one manager", s)
	}
	*m = managers(strings.TrimPrefix(string(*m)+","+s, ","))
	return nil
}

// String implements kingpin.Value.
func (m *managers) String() string { return string(*m) }

// IsCumulative lets kingpin accept the flag more than once.
func (m *managers) IsCumulative() bool { return true }

func (m *managers) all() []string {
	return strings.FieldsFunc(string(*m), func(r rune) bool { return r == ',' })
}

// positiveDuration is a flag that takes a duration as Prometheus or Go write it, such as 1m30s, 500ms or 1d. It is 0 or more.
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

// positiveInt is a flag that takes a whole number above 0.
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

// speed is a flag that takes a number above 0.
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
