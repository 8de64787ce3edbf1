package chart

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// kubernetes is the version of Kubernetes for which the helm binary renders the chart.
const kubernetes = "v1.37.0"

// rendered is what Helm renders from the chart.
type rendered struct{ objects, notes string }

// inputs are what a rendering depends on, besides the chart.
type inputs struct{ release, namespace, kubernetes, values string }

var (
	loadChart = sync.OnceValues(func() (*v2.Chart, error) { return loader.LoadDir(chart) })
	// renderings maps inputs to functions that render once.
	renderings sync.Map
)

// helmTemplate renders the chart with Helm's packages. This takes a fifth of the time of the helm binary, which does the
// same: see TestTheBinaryRendersTheSame.
func helmTemplate(in inputs) (rendered, error) {
	once, _ := renderings.LoadOrStore(in, sync.OnceValues(func() (rendered, error) { return renderOnce(in) }))
	return once.(func() (rendered, error))()
}

func renderOnce(in inputs) (rendered, error) {
	loaded, err := loadChart()
	if err != nil {
		return rendered{}, err
	}
	given, err := loader.LoadValues(strings.NewReader(in.values))
	if err != nil {
		return rendered{}, err
	}
	version, err := common.ParseKubeVersion(in.kubernetes)
	if err != nil {
		return rendered{}, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	options := common.ReleaseOptions{Name: in.release, Namespace: in.namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(loaded, given, options, capabilities)
	if err != nil {
		return rendered{}, err
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return rendered{}, err
	}
	const notes = "kubeflap/templates/NOTES.txt"
	result := rendered{notes: strings.TrimSpace(files[notes]) + "\n"}
	delete(files, notes)
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err == nil && len(hooks) > 0 {
		err = errors.New("the chart has hooks, which are not rendered here")
	}
	for _, m := range manifests {
		result.objects += fmt.Sprintf("---\n# Source: %s\n%s\n", m.Name, m.Content)
	}
	result.objects = strings.TrimSpace(result.objects) + "\n"
	return result, err
}

// template returns the YAML that `helm template` prints.
func template(values string) (string, error) {
	result, err := helmTemplate(inputs{"kubeflap", "monitoring", kubernetes, values})
	return result.objects, err
}

// render renders the chart, and decodes each object strictly into its Go type.
func render(t *testing.T, values string) []any {
	t.Helper()
	return renderAs(t, "kubeflap", "monitoring", values)
}

// renderAs renders the chart for a release with the given name in the given namespace.
func renderAs(t *testing.T, name, namespace, values string) []any {
	t.Helper()
	result, err := helmTemplate(inputs{name, namespace, kubernetes, values})
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, result.objects)
}

// notes returns the notes that helm install prints.
func notes(t *testing.T, values string) string {
	t.Helper()
	result, err := helmTemplate(inputs{"kubeflap", "monitoring", kubernetes, values})
	if err != nil {
		t.Error(err)
	}
	return result.notes
}

// helm runs the helm binary in bin/ and returns its output. The parameter values is its standard input.
func helm(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	binary, err := filepath.Abs(root + "/bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%v: run make check-chart, which builds helm", err)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(values), &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, problems.String())
	}
	return out.String(), nil
}

// The helm binary must render the same objects, print the same notes and refuse the same values as Helm's packages. If
// it does not, tools/helm.mod and go.mod have different versions of Helm, or kubernetes is not its default version.
func TestTheBinaryRendersTheSame(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"{}", values(t, source+"/ci/everything-values.yaml"), "{probePort: 9969}", "{data: {age: 0s}}"} {
		want, refused := template(input)
		got, err := helm(t, input, "template", "kubeflap", chart, "--namespace", "monitoring", "--values", "-")
		if (err == nil) != (refused == nil) || err != nil && !strings.Contains(err.Error(), refused.Error()) || got != want {
			t.Errorf("with the values %.100s, the binary renders other objects: %v, want %v", input, err, refused)
		}
		if refused != nil {
			continue
		}
		out, err := helm(t, input, "install", "kubeflap", chart, "--namespace", "monitoring", "--dry-run=client", "--values", "-")
		if _, got, _ := strings.Cut(out, "\nNOTES:\n"); err != nil || got != notes(t, input) {
			t.Errorf("with the values %.100s, the binary prints other notes: %v\n%s", input, err, got)
		}
		if out, err := helm(t, input, "lint", "--strict", chart, "--values", "-"); err != nil {
			t.Errorf("with the values %.100s: %v\n%s", input, err, out)
		}
	}
}
