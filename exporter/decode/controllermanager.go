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

// controllerManager reads the settings of a kube-controller-manager out of the spec of its pod,
// which has its name as the label component where kubeadm or one of its likes made it (cmd/kubeadm,
// ComponentPod).
func (r *Reader) controllerManager(spec []byte) *event.ControllerManager {
	slim := &event.ControllerManager{}
	m := r.message(spec)
	for m.next() {
		if m.number != specContainers {
			continue
		}
		if slim.Version == "" || string(r.field(m.bytes, containerName)) == controllerManagerName {
			slim.Version = imageTag(string(r.field(m.bytes, containerImage)))
		}
		if period := gracePeriod(r.words(m.bytes)); period > 0 {
			slim.GracePeriod = period
		}
	}
	return slim
}

// words are those of a container's command line.
func (r *Reader) words(container []byte) []string {
	var words []string
	for _, number := range [...]int32{containerCommand, containerArgs} {
		m := r.message(container)
		for m.next() {
			if int32(m.number) == number {
				// An argument may be a shell's whole command line.
				words = append(words, strings.Fields(string(m.bytes))...)
			}
		}
	}
	return words
}

// gracePeriod is the flag's last value that is one, as pflag has it; 0 if there is none.
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

// imageTag is the tag of an image: "v1.36.3" of "registry:5000/name:v1.36.3@sha256:...".
func imageTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}
