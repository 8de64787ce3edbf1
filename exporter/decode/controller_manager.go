package decode

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const controllerManagerName = "kube-controller-manager"

// controllerManager reads the settings of a kube-controller-manager from its pod's spec. Kubeadm and similar installers
// set the pod's label "component" to kube-controller-manager (see ComponentPod in cmd/kubeadm).
func (r *Reader) controllerManager(spec []byte) *event.ControllerManager {
	settings := &event.ControllerManager{}
	var words []string
	for value := range r.list(spec, specContainers) {
		if f := r.fields(value); settings.Version == "" || string(f[1]) == controllerManagerName {
			settings.Version = imageTag(string(f[2]))
		}
		words = append(append(words, r.commandLine(value)...), endOfCommand)
	}
	for name, setting := range map[string]*time.Duration{
		"node-monitor-grace-period": &settings.GracePeriod, "node-monitor-period": &settings.Flags.MonitorPeriod, "pod-eviction-timeout": &settings.Flags.EvictionTimeout,
	} {
		for _, word := range flagValues(words, name) {
			if d, err := time.ParseDuration(word); err == nil && d > 0 {
				*setting = d
			}
		}
	}
	return settings
}

// endOfCommand separates the command lines of two containers. Without it, the last flag of one container could take the
// first word of the other as its value.
const endOfCommand = ""

// commandLine returns the words of a container's command and arguments. In the message, the arguments follow the command.
func (w *wire) commandLine(container []byte) (words []string) {
	for number, value := range w.each(container) {
		if number == 3 || number == 4 {
			// With a shell, one argument can contain the whole command line.
			words = append(words, strings.Fields(string(value))...)
		}
	}
	return words
}

// flagValues returns the values of a flag, without quotes. If the flag occurs several times, the last valid value wins, as
// in pflag.
func flagValues(words []string, name string) (values []string) {
	for i, word := range words {
		value, isFlag := strings.CutPrefix(word, "--"+name)
		switch {
		case !isFlag:
			continue
		case strings.HasPrefix(value, "="):
			value = value[1:]
		case value == "" && i+1 < len(words):
			value = words[i+1]
		}
		values = append(values, strings.Trim(value, `"'`))
	}
	return values
}

// imageTag returns the tag of an image: "v1.36.3" for "registry:5000/name:v1.36.3@sha256:...".
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
