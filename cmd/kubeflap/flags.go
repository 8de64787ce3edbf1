package main

import (
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/version"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// clusterFlags holds the flags that select a cluster. kubectl has flags with the same names.
type clusterFlags struct {
	apiclient.Choice
	namespace string
}

func addClusterFlags(cmd *kingpin.CmdClause, namespaceHelp string) *clusterFlags {
	f := &clusterFlags{}
	cmd.Flag("kubeconfig", "Path of a kubeconfig file. The default is $KUBECONFIG, then ~/.kube/config, then the service account of the pod.").StringVar(&f.Kubeconfig)
	cmd.Flag("context", "The kubeconfig context to use instead of the current one.").PlaceHolder("NAME").StringVar(&f.Context)
	cmd.Flag("cluster", "The kubeconfig cluster to use instead of the one in the context.").PlaceHolder("NAME").StringVar(&f.Cluster)
	cmd.Flag("user", "The kubeconfig user to use instead of the one in the context.").PlaceHolder("NAME").StringVar(&f.User)
	cmd.Flag("namespace", namespaceHelp).Short('n').StringVar(&f.namespace)
	return f
}

// watchedNamespace is the help text of --namespace for commands that watch a cluster.
const watchedNamespace = "Watch only this namespace. If permitted, also watch nodes and their Leases. Requires no cluster-wide permissions."

// forCluster are the names of the flags that select a cluster, but no namespace.
var forCluster = []string{"kubeconfig", "context", "cluster", "user"}

// reject makes a command reject flags that do not apply, if the condition holds. The message ends with `what`.
func reject(cmd *kingpin.CmdClause, condition func() bool, what string, flags ...string) {
	cmd.Action(func(context *kingpin.ParseContext) error {
		for _, x := range context.Elements {
			flag, ok := x.Clause.(*kingpin.FlagClause)
			if ok && slices.Contains(flags, flag.Model().Name) && condition() {
				return fmt.Errorf("--%s does not apply %s", flag.Model().Name, what)
			}
		}
		return nil
	})
}

// load loads the kubeconfig.
func (f *clusterFlags) load() (apiclient.Config, error) {
	return apiclient.LoadConfig(f.Choice, "kubeflap/"+version.Version)
}

// keptIncidents is the maximum number of incidents that commands without the flag --incidents.size keep.
const keptIncidents = 500

// defaultSettings returns the settings if no flag is given.
func defaultSettings() settings {
	return settings{incidents: keptIncidents}
}

// addPipelineFlags adds the flags of a pipeline.
func addPipelineFlags(cmd *kingpin.CmdClause) *settings {
	s := addTrackerFlags(cmd)
	addFlag(cmd, "incidents.size", "Maximum number of ended incidents to keep. The oldest are dropped first.", &s.incidents, parseCount).Default("500")
	return s
}

// addTrackerFlags adds the flags of the tracker.
func addTrackerFlags(cmd *kingpin.CmdClause) *settings {
	s := defaultSettings()
	addFlag(cmd, "node-monitor-grace-period", "The --node-monitor-grace-period of the kube-controller-manager. "+
		"With 0s, kubeflap reads the value from the kube-controller-manager's pod. Failing that, it measures the value or uses the default for the server's version.",
		&s.tracker.GracePeriod, parseDuration).Default("0s")
	addFlag(cmd, "endpoints.source", "Source of address states. auto uses EndpointSlices if the cluster has them, otherwise Endpoints.",
		&s.tracker.AddressSource, parseSource).Default("auto")
	addFlag(cmd, "endpoints.known-manager", "An additional manager whose EndpointSlices kubeflap accepts for Services with a selector. "+
		"Use the value of the label endpointslice.kubernetes.io/managed-by. docs/verdicts.md lists the default managers. Can be repeated.",
		&s.tracker.KnownManagers, func(name string) ([]string, error) {
			if name == "" || strings.ContainsAny(name, ", ") {
				return nil, fmt.Errorf("%q is not a single manager name", name)
			}
			return append(s.tracker.KnownManagers, name), nil
		}).PlaceHolder("NAME")
	return &s
}

// trackerFlags are the names of the flags of the tracker.
var trackerFlags = []string{"node-monitor-grace-period", "endpoints.source", "endpoints.known-manager"}

// dataFlags holds the flags of the flight recorder.
type dataFlags struct {
	dir  string
	size int64
	age  time.Duration
}

func addDataFlags(cmd *kingpin.CmdClause) *dataFlags {
	f := &dataFlags{}
	cmd.Flag("data.dir", "Directory in which kubeflap stores events and incidents. --data.age and --data.size limit the recordings of events. If not set, kubeflap stores nothing.").PlaceHolder("DIR").StringVar(&f.dir)
	addFlag(cmd, "data.size", "Maximum size of the recordings in --data.dir. The oldest are deleted first.", &f.size, parseSize).Default("256MiB")
	addFlag(cmd, "data.age", "Maximum age of the recordings in --data.dir.", &f.age, parsePositive).Default("14d")
	return f
}

// addFlag adds a flag whose value the function parse returns.
func addFlag[T any](cmd *kingpin.CmdClause, name, help string, into *T, parse func(string) (T, error)) *kingpin.FlagClause {
	flag := cmd.Flag(name, help)
	flag.SetValue(value[T]{into, parse, name})
	return flag
}

// value is a flag value whose errors contain the flag's name.
type value[T any] struct {
	into  *T
	parse func(string) (T, error)
	flag  string
}

// Set implements kingpin.Value.
func (v value[T]) Set(s string) error {
	parsed, err := v.parse(s)
	if err != nil {
		return fmt.Errorf("--%s: %w", v.flag, err)
	}
	*v.into = parsed
	return nil
}

// String implements kingpin.Value.
func (v value[T]) String() string { return fmt.Sprint(*v.into) }

// IsCumulative allows a flag with a list to be repeated.
func (v value[T]) IsCumulative() bool { return reflect.TypeFor[T]().Kind() == reflect.Slice }

// oneOf returns a parser that accepts some words.
func oneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
		}
		return s, nil
	}
}

// parseSource parses a source of address states.
func parseSource(s string) (event.Kind, error) {
	word, err := oneOf("auto", "endpointslices", "endpoints")(s)
	return map[string]event.Kind{"endpointslices": event.KindEndpointSlice, "endpoints": event.KindEndpoints}[word], err
}

// parseDuration parses a duration of at least 0, in the format of Prometheus or Go, such as 1m30s, 500ms or 1d.
func parseDuration(s string) (time.Duration, error) {
	parsed, err := time.ParseDuration(s)
	if err != nil {
		long, modelErr := model.ParseDuration(s)
		if modelErr != nil {
			return 0, fmt.Errorf("%q is not a duration such as 30s or 2m", s)
		}
		parsed = time.Duration(long)
	}
	if parsed < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return parsed, nil
}

// parsePositive parses a duration above 0.
func parsePositive(s string) (time.Duration, error) {
	parsed, err := parseDuration(s)
	if err == nil && parsed == 0 {
		err = fmt.Errorf("%q is not more than 0s", s)
	}
	return parsed, err
}

// parseURL parses a URL with a host.
func parseURL(s string) (*url.URL, error) {
	parsed, err := url.Parse(s)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("%q is not a URL such as http://host:9969", s)
	}
	return parsed, nil
}

// parseCount parses an integer above 0.
func parseCount(s string) (int, error) {
	parsed, err := strconv.Atoi(s)
	if err != nil || parsed < 1 {
		return 0, fmt.Errorf("%q is not a whole number above 0", s)
	}
	return parsed, nil
}

// parseSpeed parses a finite number above 0.
func parseSpeed(s string) (float64, error) {
	parsed, err := strconv.ParseFloat(s, 64)
	if err != nil || !(parsed > 0) || math.IsInf(parsed, 0) {
		return 0, fmt.Errorf("%q is not a number above 0", s)
	}
	return parsed, nil
}

// parseSize parses a number of bytes, such as 512MiB. The minimum is 1 MiB.
func parseSize(s string) (int64, error) {
	parsed, err := units.ParseBase2Bytes(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a size such as 512MiB or 2GiB", s)
	case parsed < units.MiB:
		return 0, fmt.Errorf("%q is less than 1MiB", s)
	}
	return int64(parsed), nil
}
