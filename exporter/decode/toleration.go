package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// The taints of failed nodes. They are corev1.TaintNodeNotReady and corev1.TaintNodeUnreachable.
const (
	taintNotReady    = "node.kubernetes.io/not-ready"
	taintUnreachable = "node.kubernetes.io/unreachable"
)

// Fields of Toleration.
const (
	tolerationKey      = 1
	tolerationOperator = 2
	tolerationValue    = 3
	tolerationEffect   = 4
	tolerationSeconds  = 5
)

// tolerates implements corev1's Toleration.ToleratesTaint for a taint with the effect NoExecute and no value. The
// numeric operators Lt and Gt never match such a taint.
func tolerates(toleration fields, taint string) bool {
	effect, key := toleration[tolerationEffect], toleration[tolerationKey]
	if len(effect) > 0 && string(effect) != "NoExecute" || len(key) > 0 && string(key) != taint {
		return false
	}
	switch string(toleration[tolerationOperator]) {
	case "", "Equal":
		return len(toleration[tolerationValue]) == 0
	case "Exists":
		return true
	}
	return false
}

// tolerate reads a toleration. The first toleration that matches a taint applies (see GetMatchingTolerations in
// pkg/apis/core/v1/helper).
func (r *Reader) tolerate(data []byte, pod *event.Pod) {
	f := r.fields(data)
	period := event.Toleration{Forever: true}
	if seconds := f[tolerationSeconds]; seconds != nil {
		// The taint eviction controller treats a negative time as 0 (see getMinTolerationTime in
		// pkg/controller/tainteviction).
		period = event.Toleration{Seconds: max(integer(seconds), 0)}
	}
	if pod.ToleratesNotReady == nil && tolerates(f, taintNotReady) {
		pod.ToleratesNotReady = r.shared(period)
	}
	if pod.ToleratesUnreachable == nil && tolerates(f, taintUnreachable) {
		pod.ToleratesUnreachable = r.shared(period)
	}
}

// shared returns a pointer to a value equal to t, from the cache if possible.
func (c *cache) shared(t event.Toleration) *event.Toleration {
	place := uint64(t.Seconds) << 1
	if t.Forever {
		place++
	}
	known := &c.tolerations[place%uint64(len(c.tolerations))]
	if *known == nil || **known != t {
		*known = new(t)
	}
	return *known
}
