package cluster

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// Manifest is an object of a YAML stream, together with its original text.
type Manifest struct {
	unstructured.Unstructured
	text []byte
}

// Manifests splits a YAML stream into its objects.
func Manifests(text []byte) ([]Manifest, error) {
	documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all []Manifest
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		m := Manifest{text: document}
		if err := yamlutil.Unmarshal(document, &m.Object); err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		if len(m.Object) > 0 { // skip documents that contain only comments
			all = append(all, m)
		}
	}
}

// Apply creates or updates objects with server-side apply. The API server refuses unknown and duplicate fields. Objects
// without a namespace are applied in the given namespace.
func (c *Cluster) Apply(ctx context.Context, namespace string, manifests []Manifest) error {
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	// Send the original text, because decoding it would remove duplicate fields.
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	strict := metav1.PatchOptions{FieldManager: "lab", FieldValidation: metav1.FieldValidationStrict}
	for _, m := range manifests {
		kind := m.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, m.GetName(), err)
		}
		in := ""
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			in = cmp.Or(m.GetNamespace(), namespace)
		}
		if _, err := client.Resource(mapping.Resource).Namespace(in).Patch(ctx, m.GetName(), types.ApplyPatchType, m.text, strict); err != nil {
			return fmt.Errorf("apply %s %s: %w", kind.Kind, m.GetName(), err)
		}
	}
	return nil
}
