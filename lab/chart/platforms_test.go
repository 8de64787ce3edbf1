package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// umbrella renders the chart as a dependency of another chart, with values of the other chart. Helm then does not remove
// defaults that are set to null.
func umbrella(t *testing.T, values string) []any {
	t.Helper()
	parent := filepath.Join(t.TempDir(), "platform")
	must(t, os.CopyFS(filepath.Join(parent, "charts/kubeflap"), os.DirFS(chart)))
	about := "apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies:\n  - {name: kubeflap, version: '>=0.0.0-0', repository: '', condition: kubeflap.enabled}\n"
	for name, text := range map[string]string{"Chart.yaml": about, "values.yaml": "kubeflap:\n  " + strings.ReplaceAll(values, "\n", "\n  ")} {
		must(t, os.WriteFile(filepath.Join(parent, name), []byte(text), 0o600))
	}
	text := try(helm("", "template", "platform", parent, "--namespace", "platform"))(t)
	return decoded(t, text)
}

// OpenShift chooses the user and the groups, and refuses pods that set others. So the chart must not set them in an
// umbrella chart either.
func TestOpenShift(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"enabled: true\n", values(t, source+"/ci/openshift-values.yaml")} {
		spec := pod(t, umbrella(t, input))
		if p := spec.SecurityContext; p.RunAsUser != nil || p.RunAsGroup != nil || p.FSGroup != nil || !*p.RunAsNonRoot {
			t.Errorf("the pod sets the security context %+v with\n%s", p, input)
		}
		if c := spec.Containers[0].SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil {
			t.Errorf("the container sets the security context %+v with\n%s", c, input)
		}
	}
	if objects := umbrella(t, "enabled: false\n"); len(objects) != 0 {
		t.Errorf("the condition leaves %d objects", len(objects))
	}
}

// The chart must refuse Kubernetes versions that are not supported.
func TestKubernetesVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"1.30.14": "incompatible with Kubernetes", "1.31.0": "", "1.31.0-eks-1": "", "1.37.2-gke.100": ""} {
		_, err := helm("", "template", "kubeflap", chart, "--kube-version", version)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", version, err, want)
		}
	}
}
