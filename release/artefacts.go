package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// recording is the file that the binary replays for buildInfo.
const recording = "exporter/recording/incidents/1-heartbeat-loss.jsonl.gz"

var listens = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// checkArtefacts returns the problems of the artifacts in the directory, such as wrong versions or contradictory
// digests of a file.
func checkArtefacts(ctx context.Context, dir string, b build) []string {
	var err error
	if b.revision, err = head(ctx); err != nil {
		return []string{err.Error()}
	}
	image, err := readImage(imageIn(dir))
	if err != nil {
		return []string{err.Error()}
	}
	problems := checkBinary(ctx, binaryIn(dir, runtime.GOARCH), b.version, b.revision)
	var arches []string
	for arch, labels := range image.labels {
		arches = append(arches, arch)
		for label, want := range map[string]string{"version": b.version, "revision": b.revision} {
			if got := labels["org.opencontainers.image."+label]; got != want {
				problems = append(problems, fmt.Sprintf("image for %s: label %s is %q, not %s", arch, label, got, want))
			}
		}
		problems = append(problems, checkSBOM(binaryIn(dir, arch), b.version)...)
	}
	problems = append(problems, checkPackage(dir, b.version)...)
	problems = append(problems, checkPlugin(ctx, dir, b.version)...)
	b.arches = strings.Join(arches, " ")
	return append(problems, checkProvenance(dir, b)...)
}

// checkBinary checks that --version and the metric kubeflap_build_info show the given version and revision.
func checkBinary(ctx context.Context, binary, version, revision string) (problems []string) {
	said, err := output(exec.CommandContext(ctx, binary, "--version"))
	want := fmt.Sprintf("kubeflap, version %s (branch: HEAD, revision: %s)", version, revision)
	if first, _, _ := strings.Cut(said, "\n"); err != nil || first != want {
		problems = append(problems, fmt.Sprintf("%s --version says %q, %v, not %q", binary, first, err, want))
	}
	info, err := buildInfo(ctx, binary)
	if err != nil {
		return append(problems, fmt.Sprintf("%s: kubeflap_build_info: %v", binary, err))
	}
	for _, label := range []string{`version="` + version + `"`, `revision="` + revision + `"`} {
		if !strings.Contains(info, label) {
			problems = append(problems, fmt.Sprintf("%s exposes %s, without %s", binary, info, label))
		}
	}
	return problems
}

// buildInfo returns the metric kubeflap_build_info. It starts the binary to replay a recording, and scrapes the address
// that the binary logs.
func buildInfo(ctx context.Context, binary string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "replay", recording, "--web.listen-address=127.0.0.1:0")
	log, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	// Canceling the context kills the binary.
	defer func() { cancel(); _ = cmd.Wait() }()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			return scrape(ctx, "http://"+m[1]+"/metrics")
		}
	}
	return "", errors.New("it has exited without logging its address")
}

func scrape(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "kubeflap_build_info{") {
			return lines.Text(), nil
		}
	}
	return "", fmt.Errorf("%s does not expose it", url)
}

func checkSBOM(binary, version string) []string {
	content, err := os.ReadFile(binary)
	if err != nil {
		return []string{err.Error()}
	}
	text, err := os.ReadFile(sbomOf(binary))
	if err != nil {
		return []string{err.Error()}
	}
	var list struct {
		Metadata struct{ Component struct{ Version string } }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return []string{fmt.Sprintf("%s: %v", sbomOf(binary), err)}
	}
	var problems []string
	if got := list.Metadata.Component.Version; got != "v"+version {
		problems = append(problems, fmt.Sprintf("%s has version %s, not v%s", sbomOf(binary), got, version))
	}
	if sum := sha256.Sum256(content); !bytes.Contains(text, []byte(hex.EncodeToString(sum[:]))) {
		problems = append(problems, fmt.Sprintf("%s describes another binary: it does not contain the digest %x", sbomOf(binary), sum))
	}
	return problems
}

// checkPackage checks the version of the packaged chart.
func checkPackage(dir, version string) []string {
	file := chartIn(dir, version)
	text, err := output(exec.Command(filepath.Join(dir, "helm"), "show", "chart", file))
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", file, err)}
	}
	return checkChart(file, []byte(text), version)
}

// checkProvenance checks that the provenance has the correct commit, and the digest of each artifact.
func checkProvenance(dir string, b build) (problems []string) {
	file := provenanceIn(dir)
	text, err := os.ReadFile(file)
	if err != nil {
		return []string{err.Error()}
	}
	statement := &intoto.Statement{}
	if err := protojson.Unmarshal(text, statement); err != nil {
		return []string{fmt.Sprintf("%s: %v", file, err)}
	}
	if !bytes.Contains(text, []byte(`"gitCommit": "`+b.revision+`"`)) {
		problems = append(problems, fmt.Sprintf("%s names another commit than %s", file, b.revision))
	}
	attested := map[string]string{}
	for _, s := range statement.GetSubject() {
		attested[s.GetName()] = s.GetDigest()["sha256"]
	}
	artefacts, err := made(dir, b)
	if err != nil {
		return append(problems, err.Error())
	}
	for _, a := range artefacts {
		if attested[a.GetName()] != a.GetDigest()["sha256"] {
			problems = append(problems, fmt.Sprintf("%s contains the digest %q for %s, whose digest is %s",
				file, attested[a.GetName()], a.GetName(), a.GetDigest()["sha256"]))
		}
	}
	return problems
}
