package decode

import (
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	controllerManagerName = "kube-controller-manager"
	gracePeriodFlag       = "--node-monitor-grace-period"
)

// controllerManager reads the settings of a kube-controller-manager from the spec of its pod. Kubeadm and similar installers
// set the label component to its name (cmd/kubeadm, ComponentPod).
func (r *Reader) controllerManager(spec []byte) *event.ControllerManager {
	settings := &event.ControllerManager{}
	m := r.message(spec)
	for m.next() {
		if m.number != specContainers {
			continue
		}
		if settings.Version == "" || string(r.field(m.bytes, containerName)) == controllerManagerName {
			settings.Version = imageTag(string(r.field(m.bytes, containerImage)))
		}
		if period := gracePeriod(r.commandLine(m.bytes)); period > 0 {
			settings.GracePeriod = period
		}
	}
	return settings
}

// commandLine returns the words of a container's command and arguments.
func (r *Reader) commandLine(container []byte) []string {
	var words []string
	for _, number := range [...]int32{containerCommand, containerArgs} {
		m := r.message(container)
		for m.next() {
			if int32(m.number) == number {
				// An argument may be the whole command line of a shell.
				words = append(words, strings.Fields(string(m.bytes))...)
			}
		}
	}
	return words
}

// gracePeriod returns the last valid value of the flag, as pflag does, and 0 if there is none.
func gracePeriod(words []string) time.Duration {
	var period time.Duration
	for i, word := range words {
		value, isFlag := strings.CutPrefix(word, gracePeriodFlag)
		switch {
		case !isFlag:
			continue
		case strings.HasPrefix(value, "="):
			value = value[1:]
		case value == "" && i+1 < len(words):
			value = words[i+1]
		}
		if d, err := time.ParseDuration(strings.Trim(value, `"'`)); err == nil && d > 0 {
			period = d
		}
	}
	return period
}

// imageTag returns the tag of an image: "v1.36.3" for "registry:5000/name:v1.36.3@sha256:...".
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
