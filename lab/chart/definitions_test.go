package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	_ "github.com/argoproj/argo-cd/v3/pkg/apis/application" // keeps the module, which contains the CRD
	crd "github.com/prometheus-operator/prometheus-operator/example"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// customDefinitions returns the CRDs of the custom resources in the chart and in the documents, by kind, from the Go modules of
// their projects.
var customDefinitions = sync.OnceValues(func() (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	var text bytes.Buffer
	if err := crd.PrintAll(&text); err != nil {
		return nil, err
	}
	for module, file := range map[string]string{
		"sigs.k8s.io/gateway-api":        "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
		"github.com/argoproj/argo-cd/v3": "manifests/crds/application-crd.yaml",
	} {
		directory, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			return nil, err
		}
		definition, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(directory)), file))
		if err != nil {
			return nil, err
		}
		text.WriteString("\n---\n" + string(definition))
	}
	byKind := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for document := range strings.SplitSeq(text.String(), "\n---\n") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(document), definition); err != nil {
			return nil, err
		}
		byKind[definition.Spec.Names.Kind] = definition
	}
	return byKind, nil
})

// definition returns the schema of a custom resource, or nil for a kind of Kubernetes itself.
func definition(t *testing.T, object map[string]any) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	all := try(customDefinitions())(t)
	kind, version := object["kind"].(string), object["apiVersion"].(string)
	if all[kind] == nil {
		return nil
	}
	for _, v := range all[kind].Spec.Versions {
		if all[kind].Spec.Group+"/"+v.Name == version {
			return v.Schema.OpenAPIV3Schema
		}
	}
	t.Fatalf("the CRD of %s has no version %s", kind, version)
	return nil
}

// checkCustom validates a custom resource with the API server's own code. The API server must know all its fields, and
// must not add any: a GitOps tool would report a default that the API server adds as a difference, for ever.
func checkCustom(t *testing.T, object map[string]any) (problems []string) {
	t.Helper()
	schema := definition(t, object)
	if schema == nil {
		return nil
	}
	internal := &apiextensions.JSONSchemaProps{}
	must(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil))
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range validation.ValidateCustomResource(nil, object, validator) {
		problems = append(problems, problem.Error())
	}
	s := try(structuralschema.NewStructural(internal))(t)
	served := runtime.DeepCopyJSON(object)
	problems = append(problems, pruning.PruneWithOptions(served, s, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	if defaulting.Default(served, s); !reflect.DeepEqual(served, object) {
		is, _ := yaml.Marshal(served)
		problems = append(problems, "the API server changes it to\n"+string(is))
	}
	return problems
}

// With each values file, all custom resources must be valid, and stay what they are in the API server.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	checked := map[string]bool{}
	inputs := valuesFiles(t)
	inputs["PodMonitor"] = "{monitor: {enabled: true, kind: PodMonitor, relabelings: [{targetLabel: cluster, replacement: c}]}}"
	for name, input := range inputs {
		text := try(template(input))(t)
		for _, document := range documents(t, text) {
			object := map[string]any{}
			must(t, utiljson.Unmarshal(document, &object))
			for _, problem := range checkCustom(t, object) {
				t.Errorf("%s: %s: %s", name, object["kind"], problem)
			}
			checked[object["kind"].(string)] = true
		}
	}
	for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule", "HTTPRoute"} {
		if !checked[kind] {
			t.Errorf("no values file renders a %s", kind)
		}
	}
	// The check itself must find a mistake of each kind.
	for spec, want := range map[string]string{
		"{rules: [{backendRefs: [{name: k, port: 1}]}]}": "the API server changes it",
		"{hostnames: [-]}": "should match",
		"{hosts: [a]}":     "spec.hosts",
	} {
		object := map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": "k"}}
		var parsed map[string]any
		must(t, yaml.Unmarshal([]byte(spec), &parsed))
		object["spec"] = parsed
		if found := strings.Join(checkCustom(t, object), "\n"); !strings.Contains(found, want) {
			t.Errorf("%s: found %q, want %s", spec, found, want)
		}
	}
}
