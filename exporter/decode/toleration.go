package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// The taints of failed nodes. They are corev1.TaintNodeNotReady and corev1.TaintNodeUnreachable.
const (
	taintNotReady    = "node.kubernetes.io/not-ready"
	taintUnreachable = "node.kubernetes.io/unreachable"
)

// maxTolerations is the maximum number of cached toleration periods. Most pods have the default of 300 s (see
// plugin/pkg/admission/defaulttolerationseconds).
const maxTolerations = 256

// toleration is a corev1.Toleration.
type toleration struct {
	key, operator, value, effect []byte
	period                       event.Toleration
}

func (r *Reader) toleration(data []byte) toleration {
	t := toleration{period: event.Toleration{Forever: true}}
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			t.key = m.bytes
		case 2:
			t.operator = m.bytes
		case 3:
			t.value = m.bytes
		case 4:
			t.effect = m.bytes
		case 5:
			// The taint eviction controller treats a negative time as 0 (see getMinTolerationTime in
			// pkg/controller/tainteviction).
			t.period = event.Toleration{Seconds: max(int64(m.varint), 0)}
		}
	}
	return t
}

// tolerates implements corev1's Toleration.ToleratesTaint for a taint with the effect NoExecute and no value. The
// numeric operators Lt and Gt never match such a taint.
func (t *toleration) tolerates(taint string) bool {
	if len(t.effect) > 0 && string(t.effect) != "NoExecute" || len(t.key) > 0 && string(t.key) != taint {
		return false
	}
	switch string(t.operator) {
	case "", "Equal":
		return len(t.value) == 0
	case "Exists":
		return true
	}
	return false
}

// tolerate reads a toleration. The first toleration that matches a taint applies (see GetMatchingTolerations in
// pkg/apis/core/v1/helper).
func (r *Reader) tolerate(data []byte, pod *event.Pod) {
	if pod.ToleratesNotReady != nil && pod.ToleratesUnreachable != nil {
		return
	}
	t := r.toleration(data)
	if pod.ToleratesNotReady == nil && t.tolerates(taintNotReady) {
		pod.ToleratesNotReady = r.shared(t.period)
	}
	if pod.ToleratesUnreachable == nil && t.tolerates(taintUnreachable) {
		pod.ToleratesUnreachable = r.shared(t.period)
	}
}

// tolerateNothingElse sets missing tolerations to 0 s. Call it after all tolerations have been read.
func (r *Reader) tolerateNothingElse(pod *event.Pod) {
	if pod.ToleratesNotReady == nil {
		pod.ToleratesNotReady = r.shared(event.Toleration{})
	}
	if pod.ToleratesUnreachable == nil {
		pod.ToleratesUnreachable = r.shared(event.Toleration{})
	}
}

// shared returns a pointer to a value equal to t, from the cache if possible.
func (r *Reader) shared(t event.Toleration) *event.Toleration {
	if known, ok := r.tolerations[t]; ok {
		return known
	}
	if r.tolerations == nil || len(r.tolerations) >= maxTolerations {
		r.tolerations = map[event.Toleration]*event.Toleration{}
	}
	r.tolerations[t] = new(t)
	return r.tolerations[t]
}
