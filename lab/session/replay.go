package session

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/kubeflap/kubeflap/lab/compare"
)

// resources is the number of resources that a recording lists at its beginning.
const resources = 6

// startRecording starts a recording with the given kubeconfig, and waits until it contains all lists.
func (s *Session) startRecording(kubeconfig string) {
	s.record = s.start("kubeflap-record", "record", s.options.Save, "--title="+s.scenario.Summary, "--kubeconfig="+kubeconfig)
	s.Must(s.record.Until(s.Ctx, patience, "the recording to begin", func(context.Context) error {
		text, err := readRecording(s.options.Save)
		if n := bytes.Count(text, []byte(`"type":"synced"`)); err == nil && n < resources {
			return fmt.Errorf("the recording contains %d of %d lists", n, resources)
		}
		return err
	}))
}

// readRecording reads a recording, even if it is still being written.
func readRecording(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return data, err
	}
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	text, err := io.ReadAll(unzip)
	if errors.Is(err, io.ErrUnexpectedEOF) { // the recording is still being written
		err = nil
	}
	return text, err
}

// replay ends the recording and replays it. At the end of the replay, the metrics must agree with the recorder. It sets
// no flag for the grace period, because the recording must contain the grace period.
func (s *Session) replay() {
	if s.record == nil {
		return
	}
	span, err := s.comparison().Around(s.Ctx, func() error {
		ctx, cancel := context.WithTimeout(s.Ctx, patience)
		defer cancel()
		if err := s.record.Alive(); err != nil {
			return err
		}
		return s.record.Terminate(ctx) // gracefully, so that kubeflap writes all of the recording
	})
	s.Must(err)
	if s.raw != nil {
		s.Must(s.raw.End())
	}
	if s.options.Facts != "" {
		s.facts.endSegment(s.Truth, &s.scenario, span.Began())
		s.writeFacts()
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(s.Ctx, s.options.Kubeflap, "replay", s.options.Save, "--once")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	s.Expect(err == nil, "replay the recording: %v\n%s", err, &errOut)
	reported, err := compare.Text(&out)
	s.Must(err, span.Replayed(reported))
}
