package event

import (
	"regexp"
	"strings"
)

// Words holds the reason and the message of a condition.
type Words struct{ Reason, Message string }

// String returns the words on one line, as in "KubeletNotReady: PLEG is not healthy".
func (w Words) String() string {
	if w.Reason == "" || w.Message == "" {
		return w.Reason + w.Message
	}
	return w.Reason + ": " + w.Message
}

// NotReadyKind says what a kubelet complains about when it reports Ready=False.
type NotReadyKind uint8

// The kinds. If a message contains several complaints, the first of these kinds explains the others.
const (
	NotReadyShutdown NotReadyKind = iota
	NotReadyClock
	NotReadyCertificate
	NotReadyDiskOrMemory
	NotReadyRuntime
	NotReadyPLEG
	NotReadyNetwork
	NotReadyOther
	// NumNotReadyKinds is the number of kinds.
	NumNotReadyKinds
)

// complaints recognises the kinds by what the kubelet (pkg/kubelet, runtimeState and nodestatus.ReadyCondition), the
// container runtimes and Go's libraries write. The first match decides. The last expressions match complaints of
// kubelets that have just started, so they only count if there is no other.
var complaints = []struct {
	kind NotReadyKind
	in   *regexp.Regexp
}{
	{NotReadyShutdown, words(`node is shutting down`)},
	{NotReadyClock, words(`current time [0-9tz:.+-]+ is before|clock skew|clock is not synchroni[sz]ed|token used before issued|token not valid yet`)},
	{NotReadyCertificate, words(`x509: |certificate (?:has |is )?expired|bootstrap client certificate|(?:bad|expired|revoked|unknown) certificate|certificate (?:required|signed by unknown authority)|certificate is not (?:valid|available)|no serving certificate`)},
	{NotReadyDiskOrMemory, words(`no space left on device|disk quota exceeded|read-only file ?system|file ?system read-only|structure needs cleaning|input/output error|out of ?disk|disk (?:is )?full|disk ?pressure|` +
		`cannot allocate memory|out of ?memory|oom-?kill(?:ed|er)|system oom|insufficient memory|memory ?pressure|resource temporarily unavailable|too many open files|failed to garbage collect`)},
	{NotReadyRuntime, words(`runtime is (?:down|not up)|container runtime not ready|runtimeready=false|docker ?daemon|docker is not healthy|failed to get docker version|(?:docker|containerd|crio|cri-dockerd|dockershim)\.sock|` +
		`container runtime (?:sanity check failed|status check failed|status is nil)|failed to get (?:container )?runtime status`)},
	{NotReadyPLEG, words(`pleg was last seen active|pleg: unable to retrieve pods`)},
	{NotReadyNetwork, words(`runtime network not ready|networkready=false|networkpluginnotready|network plugin|network not configured|cni (?:config|plugin|(?:default )?network)|cni/net\.d|cni/bin|network for (?:pod )?sandbox|netconfig|podcidr|sdn pod`)},
	{NotReadyRuntime, words(`container runtime status check may not have completed yet|rpc error: code = [a-z]+`)},
	{NotReadyPLEG, words(`pleg is not healthy|pleg has yet to be successful`)},
	{NotReadyNetwork, words(`network state unknown`)},
}

func words(expression string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + expression) }

// Kind returns the kind of a kubelet's words.
func (w Words) Kind() NotReadyKind {
	for _, c := range complaints {
		if c.in.MatchString(w.Message) {
			return c.kind
		}
	}
	return NotReadyOther
}

// KnownWords returns only those parts of a message by which Kind recognises its kind. They contain no names.
func KnownWords(message string) string {
	var known []string
	for _, c := range complaints {
		known = append(known, c.in.FindAllString(message, -1)...)
	}
	return strings.Join(known, ", ")
}

// healthySuffixes end the types of conditions that are True on healthy nodes, such as ContainerRuntimeReady of the EKS
// node monitoring agent.
var healthySuffixes = regexp.MustCompile(`(Ready|Healthy|Available|Initialized|Succeeded)$`)

// IsProblem reports whether a node has a problem while its condition of this type is True. This applies to the
// conditions of the kubelet but Ready, and to those of the node-problem-detector.
func IsProblem(condition string) bool {
	return !LifecycleType(condition).Known() && !healthySuffixes.MatchString(condition)
}
