package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed" // embeds the template of the manifest
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

//go:embed flap.yaml.tmpl
var manifestTemplate string

// manifestIn returns the path of the plugin's krew manifest. krew requires that the file is named after the plugin.
func manifestIn(dir string) string { return filepath.Join(dir, "flap.yaml") }

// archive is the archive of the plugin for one platform.
type archive struct {
	OS, Arch string
	// Program is the name of the executable in the archive.
	Program string
	// Name is the file name of the archive. URI is the address from which users download it.
	Name, URI, SHA256 string
}

// archivesOf returns the archives of a version, without their digests. The parameter platforms contains names such as
// linux/amd64.
func archivesOf(version, platforms string) []archive {
	var all []archive
	for platform := range strings.FieldsSeq(platforms) {
		system, arch, _ := strings.Cut(platform, "/")
		a := archive{OS: system, Arch: arch, Program: "kubectl-flap", Name: fmt.Sprintf("kubectl-flap-v%s-%s-%s.tar.gz", version, system, arch)}
		if system == "windows" {
			a.Program += ".exe"
		}
		a.URI = fmt.Sprintf("%s/releases/download/v%s/%s", repository, version, a.Name)
		all = append(all, a)
	}
	return all
}

// binary returns the path at which make has built the plugin.
func (a archive) binary(dir string) string {
	return filepath.Join(dir, "plugin", a.OS, a.Arch, "kubectl-flap")
}

// writePlugin packs the plugin for each platform, and writes its manifest.
func writePlugin(dir string, b build) error {
	archives := archivesOf(b.version, b.platforms)
	for i := range archives {
		a := &archives[i]
		content, err := a.pack(dir)
		if err != nil {
			return fmt.Errorf("pack the plugin for %s/%s: %w", a.OS, a.Arch, err)
		}
		if err := os.WriteFile(filepath.Join(dir, a.Name), content, 0o644); err != nil { //nolint:gosec // it is to be published
			return fmt.Errorf("write the plugin: %w", err)
		}
		sum := sha256.Sum256(content)
		a.SHA256 = hex.EncodeToString(sum[:])
	}
	var text bytes.Buffer
	parsed, err := template.New("manifest").Parse(manifestTemplate)
	if err != nil {
		return fmt.Errorf("read the manifest template: %w", err)
	}
	if err := parsed.Execute(&text, map[string]any{"Version": b.version, "Repository": repository, "Archives": archives}); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := os.WriteFile(manifestIn(dir), text.Bytes(), 0o644); err != nil { //nolint:gosec // it is to be published
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// pack returns an archive with the program and the license. The archive contains no times, so that the same program
// always gives the same archive.
func (a archive) pack(dir string) ([]byte, error) {
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	files := tar.NewWriter(compressed)
	for _, f := range []struct {
		name, from string
		mode       int64
	}{{a.Program, a.binary(dir), 0o755}, {"LICENSE", "LICENSE", 0o644}} {
		text, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		if err := files.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(text)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := files.Write(text); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// pluginManifest has the fields of a krew manifest that this command checks. krew's own validator checks the other
// fields.
type pluginManifest struct {
	Spec struct {
		Version   string
		Platforms []struct{ URI, SHA256 string }
	}
}

// checkPlugin returns the problems of the plugin's manifest. It compares the version, and the digests of the archives.
func checkPlugin(ctx context.Context, dir, version string) []string {
	file := manifestIn(dir)
	text, err := os.ReadFile(file)
	if err != nil {
		return []string{err.Error()}
	}
	var m pluginManifest
	if err := yaml.Unmarshal(text, &m); err != nil {
		return []string{fmt.Sprintf("%s: %v", file, err)}
	}
	var problems []string
	if m.Spec.Version != "v"+version {
		problems = append(problems, fmt.Sprintf("%s has version %s, not v%s", file, m.Spec.Version, version))
	}
	for _, p := range m.Spec.Platforms {
		content, err := os.ReadFile(filepath.Join(dir, path.Base(p.URI)))
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if sum := sha256.Sum256(content); p.SHA256 != hex.EncodeToString(sum[:]) {
			problems = append(problems, fmt.Sprintf("%s contains the digest %s for %s, whose digest is %x", file, p.SHA256, path.Base(p.URI), sum))
		}
	}
	check := exec.CommandContext(ctx, filepath.Join(dir, "validate-krew-manifest"), "-skip-install", "-manifest", file)
	if said, err := check.CombinedOutput(); err != nil {
		problems = append(problems, fmt.Sprintf("%s is not a valid krew manifest: %v: %s", file, err, said))
	}
	return problems
}
