package chart

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// rendered is what Helm renders from the chart.
type rendered struct{ objects, notes string }

// renderings maps the release, the namespace and the values to functions that render once.
var renderings sync.Map

// rendering renders the chart for a release, as helm install does.
func rendering(release, namespace, values string) (rendered, error) {
	once, _ := renderings.LoadOrStore([3]string{release, namespace, values}, sync.OnceValues(func() (rendered, error) {
		out, err := helm(values, "install", release, chart, "--namespace", namespace, "--dry-run=client", "--values", "-")
		_, out, _ = strings.Cut(out, "\nMANIFEST:\n")
		objects, notes, _ := strings.Cut(out, "\nNOTES:\n")
		return rendered{strings.TrimSpace(objects) + "\n", strings.TrimSpace(notes) + "\n"}, err
	}))
	return once.(func() (rendered, error))()
}

// template returns the YAML of all objects.
func template(values string) (string, error) {
	result, err := rendering("kubeflap", "monitoring", values)
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
	result := try(rendering(name, namespace, values))(t)
	return decoded(t, result.objects)
}

// notes returns the notes that helm install prints.
func notes(t *testing.T, values string) string {
	t.Helper()
	result, err := rendering("kubeflap", "monitoring", values)
	if err != nil {
		t.Error(err)
	}
	return result.notes
}

// helm runs the helm binary in bin/ and returns its output. The parameter values is its standard input.
func helm(values string, args ...string) (string, error) {
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(context.Background(), root+"/bin/helm", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(values), &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), errors.Join(err, errors.New(problems.String()))
	}
	return out.String(), nil
}
