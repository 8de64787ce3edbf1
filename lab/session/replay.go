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

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// resources is the number of resources that a recording lists at its beginning.
const resources = 6

// startRecording starts a recording with the given kubeconfig, and waits until it contains all lists.
func (s *Session) startRecording(ctx context.Context, kubeconfig string) (err error) {
	s.record, err = s.start("kubeflap-record", "record", s.options.Save,
		"--title="+s.scenario.Summary, "--kubeconfig="+kubeconfig)
	if err != nil {
		return err
	}
	return s.record.Until(ctx, patience, "the recording to begin", func(context.Context) error {
		text, err := readRecording(s.options.Save)
		if n := bytes.Count(text, []byte(`"type":"synced"`)); err == nil && n < resources {
			return fmt.Errorf("the recording contains %d of %d lists", n, resources)
		}
		return err
	})
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

// replay ends the recording and replays it. At the end of the replay, the metrics must agree with the recorder.
func (s *Session) replay(ctx context.Context) error {
	if s.record == nil {
		return nil
	}
	span, err := s.comparison().Around(ctx, func() error { return finish(ctx, s.record) })
	if err != nil {
		return err
	}
	if err := errors.Join(s.raw.end(), s.facts.write(s.Truth, span.Began())); err != nil {
		return err
	}
	reported, err := replayOnce(ctx, s.options)
	if err != nil {
		return err
	}
	return span.Replayed(reported)
}

// replayOnce returns the metrics at the end of the replay. It sets no flag for the grace period, because the recording
// must contain the grace period.
func replayOnce(ctx context.Context, o Options) (truth.Counts, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, o.Kubeflap, "replay", o.Save, "--once")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("replay the recording: %w\n%s", err, errOut.String())
	}
	return compare.Text(&out)
}

// finish ends the recording gracefully, so that kubeflap writes all of it.
func finish(ctx context.Context, record *cluster.Process) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := record.Alive(); err != nil {
		return err
	}
	return record.Terminate(ctx)
}
