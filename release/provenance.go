package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/package-url/packageurl-go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	slsaV1 = "https://slsa.dev/provenance/v1"
	// This section of the documentation describes the parameters of the build.
	buildType = repository + "/blob/main/docs/supply-chain.md#provenance"
)

func provenanceIn(dir string) string     { return filepath.Join(dir, "kubeflap.provenance.json") }
func sbomOf(binary string) string        { return binary + ".cdx.json" }
func binaryIn(dir, arch string) string   { return filepath.Join(dir, "linux-"+arch, "kubeflap") }
func imageIn(dir string) string          { return filepath.Join(dir, "kubeflap-image.tar") }
func chartIn(dir, version string) string { return filepath.Join(dir, "kubeflap-"+version+".tgz") }

// writeProvenance writes the provenance of all artifacts in the directory.
func writeProvenance(ctx context.Context, dir string, b build) error {
	// The commit identifies the source only if the work tree has no changes.
	if changed, err := git(ctx, "status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, fmt.Errorf("no provenance: the work tree differs from the commit:\n%s", changed))
	}
	subjects, err := made(dir, b)
	if err != nil {
		return err
	}
	predicate, err := predicate(dir, b)
	if err != nil {
		return err
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: slsaV1, Predicate: predicate}
	if err := statement.Validate(); err != nil {
		return fmt.Errorf("create the statement: %w", err)
	}
	text, err := protojson.Marshal(statement)
	if err != nil {
		return fmt.Errorf("encode the statement: %w", err)
	}
	var pretty bytes.Buffer
	// protojson varies its whitespace on purpose. Format the text again, so that the same build gives the same file.
	if err := json.Indent(&pretty, text, "", "  "); err != nil {
		return fmt.Errorf("encode the statement: %w", err)
	}
	pretty.WriteByte('\n')
	if err := os.WriteFile(provenanceIn(dir), pretty.Bytes(), 0o644); err != nil { //nolint:gosec // it is to be published
		return fmt.Errorf("write the statement: %w", err)
	}
	return nil
}

// made returns all artifacts of the release with their digests.
func made(dir string, b build) ([]*intoto.ResourceDescriptor, error) {
	files := []string{chartIn(dir, b.version), manifestIn(dir)}
	for arch := range strings.FieldsSeq(b.arches) {
		files = append(files, binaryIn(dir, arch), sbomOf(binaryIn(dir, arch)))
	}
	for _, a := range archivesOf(b.version, b.platforms) {
		files = append(files, filepath.Join(dir, a.Name))
	}
	var subjects []*intoto.ResourceDescriptor
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read an artifact: %w", err)
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		subjects = append(subjects, subject(name, hex.EncodeToString(sum[:])))
	}
	image, err := readImage(imageIn(dir))
	if err != nil {
		return nil, err
	}
	// Use the digest that the image has in a registry, because the archive differs between builds.
	return append(subjects, subject("kubeflap", strings.TrimPrefix(image.digest, "sha256:"))), nil
}

func subject(name, sum string) *intoto.ResourceDescriptor {
	return &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": sum}}
}

// predicate returns the SLSA provenance.
func predicate(dir string, b build) (*structpb.Struct, error) {
	source := &intoto.ResourceDescriptor{Uri: "git+" + repository, Digest: map[string]string{"gitCommit": b.revision}}
	materials, goVersion, err := modules(binariesOf(dir, b))
	if err != nil {
		return nil, err
	}
	outside, err := structpb.NewStruct(map[string]any{
		"source":     source.GetUri() + "@" + b.revision,
		"target":     "provenance",
		"parameters": map[string]any{"VERSION": "v" + b.version, "ARCHES": b.arches, "PLATFORMS": b.platforms},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the parameters: %w", err)
	}
	inside, err := structpb.NewStruct(map[string]any{"go": goVersion, "CGO_ENABLED": "0"})
	if err != nil {
		return nil, fmt.Errorf("encode the parameters: %w", err)
	}
	p := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType: buildType, ExternalParameters: outside, InternalParameters: inside,
			ResolvedDependencies: append([]*intoto.ResourceDescriptor{source}, materials...),
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: b.builder}},
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("create the provenance: %w", err)
	}
	return asStruct(p)
}

func asStruct(m proto.Message) (*structpb.Struct, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the provenance: %w", err)
	}
	s := &structpb.Struct{}
	if err := protojson.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("encode the provenance: %w", err)
	}
	return s, nil
}

// binariesOf returns the paths of the binaries of kubeflap and of the plugin.
func binariesOf(dir string, b build) []string {
	var all []string
	for arch := range strings.FieldsSeq(b.arches) {
		all = append(all, binaryIn(dir, arch))
	}
	for _, a := range archivesOf(b.version, b.platforms) {
		all = append(all, a.binary(dir))
	}
	return all
}

// modules returns the Go modules that are linked into the binaries, with their checksums. It also returns the Go
// version of the build.
func modules(binaries []string) (all []*intoto.ResourceDescriptor, goVersion string, err error) {
	found := map[string]*debug.Module{}
	for _, binary := range binaries {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return nil, "", fmt.Errorf("read the build info: %w", err)
		}
		goVersion = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path+"@"+m.Version] = m
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		m := found[key]
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil {
			return nil, "", fmt.Errorf("decode the checksum of %s: %w", key, err)
		}
		namespace, name := path.Split(m.Path)
		url := packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, m.Version, nil, "")
		// in-toto uses the name dirHash for the h1 hash of go.sum. Its format is hexadecimal.
		all = append(all, &intoto.ResourceDescriptor{
			Uri: url.ToString(), Digest: map[string]string{"dirHash": hex.EncodeToString(sum)},
		})
	}
	return all, goVersion, nil
}
