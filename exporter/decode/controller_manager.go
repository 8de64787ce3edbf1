package decode

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	controllerManagerName = "kube-controller-manager"
	gracePeriodFlag       = "--node-monitor-grace-period"
)

// controllerManager reads the settings of a kube-controller-manager from its pod's spec. Kubeadm and similar installers
// set the pod's label "component" to kube-controller-manager (see ComponentPod in cmd/kubeadm).
func (r *Reader) controllerManager(spec []byte) *event.ControllerManager {
	settings := &event.ControllerManager{}
	var words []string
	for value := range r.list(spec, specContainers).each {
		if f := r.fields(value); settings.Version == "" || string(f[containerName]) == controllerManagerName {
			settings.Version = imageTag(string(f[containerImage]))
		}
		words = append(append(words, r.commandLine(value)...), endOfCommand)
	}
	if period := flagValue(words, gracePeriodFlag, positiveDuration); period != nil {
		settings.GracePeriod = *period
	}
	settings.Flags = controllerManagerFlags(words)
	return settings
}

// controllerManagerFlags reads the flags from a command line (see cmd/kube-controller-manager/app/options).
func controllerManagerFlags(words []string) *event.ControllerManagerFlags {
	return &event.ControllerManagerFlags{
		MonitorPeriod:          flagValue(words, "--node-monitor-period", time.ParseDuration),
		QPS:                    flagValue(words, "--kube-api-qps", parseFloat),
		Burst:                  flagValue(words, "--kube-api-burst", parseInt32),
		EndpointSyncs:          flagValue(words, "--concurrent-endpoint-syncs", parseInt32),
		EndpointSliceSyncs:     flagValue(words, "--concurrent-service-endpoint-syncs", parseInt32),
		EndpointBatch:          flagValue(words, "--endpoint-updates-batch-period", time.ParseDuration),
		EndpointSliceBatch:     flagValue(words, "--endpointslice-updates-batch-period", time.ParseDuration),
		EvictionRate:           flagValue(words, "--node-eviction-rate", parseFloat),
		SecondaryEvictionRate:  flagValue(words, "--secondary-node-eviction-rate", parseFloat),
		UnhealthyZoneThreshold: flagValue(words, "--unhealthy-zone-threshold", parseFloat),
	}
}

// endOfCommand separates the command lines of two containers. Without it, the last flag of one container could take the
// first word of the other as its value.
const endOfCommand = ""

// commandLine returns the words of a container's command and arguments. In the message, the arguments follow the command.
func (w *wire) commandLine(container []byte) (words []string) {
	for number, value := range w.message(container).each {
		if number == containerCommand || number == containerArgs {
			// With a shell, one argument can contain the whole command line.
			words = append(words, strings.Fields(string(value))...)
		}
	}
	return words
}

// flagValue returns the value of a flag, or nil if the flag has no valid value. If the flag occurs several times, the
// last valid value wins, as in pflag.
func flagValue[T any](words []string, name string, parse func(string) (T, error)) *T {
	var found *T
	for i, word := range words {
		value, isFlag := strings.CutPrefix(word, name)
		switch {
		case !isFlag:
			continue
		case strings.HasPrefix(value, "="):
			value = value[1:]
		case value == "" && i+1 < len(words):
			value = words[i+1]
		}
		if v, err := parse(strings.Trim(value, `"'`)); err == nil {
			found = &v
		}
	}
	return found
}

var errNotValid = errors.New("the value is not valid")

func positiveDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errNotValid
	}
	return d, err //nolint:wrapcheck // the caller drops the error
}

func parseFloat(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
		err = errNotValid // JSON cannot represent this number, so a recording cannot contain it
	}
	return n, err //nolint:wrapcheck // the caller drops the error
}

func parseInt32(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 0, 32) // base 0 accepts 0x and 0b, as pflag does
	return int32(n), err                    //nolint:wrapcheck // the caller drops the error
}

// imageTag returns the tag of an image: "v1.36.3" for "registry:5000/name:v1.36.3@sha256:...".
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
