package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	"github.com/package-url/packageurl-go"
)

// sbomOf is where a binary's SBOM lies.
func sbomOf(binary string) string { return binary + ".cdx.json" }

// writeSBOM writes the SBOM of a binary beside it. The same binary of the same commit gives the same one.
func writeSBOM(binary string, b build) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the binary: %w", err)
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read the build info of %s: %w", binary, err)
	}
	var text bytes.Buffer
	encoder := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bill(info, sha256.Sum256(content), b), cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("encode the SBOM of %s: %w", binary, err)
	}
	return write(sbomOf(binary), text.Bytes())
}

// bill lists what is linked into the binary: kubeflap, the modules, and the standard library.
func bill(info *buildinfo.BuildInfo, sum [sha256.Size]byte, b build) *cdx.BOM {
	product := component(cdx.ComponentTypeApplication, info.Main.Path, "v"+b.version)
	product.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	product.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	product.Properties = &[]cdx.Property{{Name: "GOOS", Value: setting(info, "GOOS")}, {Name: "GOARCH", Value: setting(info, "GOARCH")}}
	product.ExternalReferences = &[]cdx.ExternalReference{{
		Type: cdx.ERTypeVCS, URL: repository, Comment: "commit " + b.commit.revision,
	}}

	parts := []cdx.Component{component(cdx.ComponentTypeLibrary, "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range linked(info) {
		part := component(cdx.ComponentTypeLibrary, m.Path, m.Version)
		// Not one of the hashes: it is that of a list of files, as go.sum has it.
		part.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.Sum}}
		parts = append(parts, part)
	}
	needs := make([]string, 0, len(parts))
	for _, part := range parts {
		needs = append(needs, part.BOMRef)
	}

	list := cdx.NewBOM()
	// Not random, so that it too is the same for the same binary.
	list.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(repository+"#"+b.commit.revision+"#"+hex.EncodeToString(sum[:]))).URN()
	list.Metadata = &cdx.Metadata{Timestamp: b.commit.time.Format(time.RFC3339), Component: &product}
	list.Components = &parts
	list.Dependencies = &[]cdx.Dependency{{Ref: product.BOMRef, Dependencies: &needs}}
	return list
}

func component(kind cdx.ComponentType, name, version string) cdx.Component {
	namespace, base := path.Split(name)
	url := packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), base, version, nil, "").ToString()
	return cdx.Component{BOMRef: url, Type: kind, Name: name, Version: version, PackageURL: url}
}

// linked are the modules in the binary; of a replaced one what replaces it.
func linked(info *buildinfo.BuildInfo) []*debug.Module {
	var modules []*debug.Module
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, m)
	}
	return modules
}

func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func write(file string, text []byte) error {
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // it is to be published
		return fmt.Errorf("write it: %w", err)
	}
	return nil
}
