package browser

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A report is a file. People open it on any screen or print it.
func TestTheReportFitsEveryScreenAndPaper(t *testing.T) {
	binary := value(t, built)
	recordings, err := filepath.Glob("../../exporter/recording/incidents/*.jsonl.gz")
	if err != nil || len(recordings) < 5 {
		t.Fatalf("recordings: %q %v", recordings, err)
	}
	p := open(t)
	for _, recording := range recordings {
		file := filepath.Join(t.TempDir(), "report.html")
		if out, err := exec.CommandContext(t.Context(), binary, "report", "--recording", recording, "--output-file", file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		name := strings.TrimSuffix(filepath.Base(recording), ".jsonl.gz")
		for _, media := range []string{"screen", "print"} {
			for _, width := range []int64{360, 1200} {
				p.run(chromedp.EmulateViewport(width, 800), emulation.SetEmulatedMedia().WithMedia(media), chromedp.Navigate("file://"+file))
				if wide := p.number("document.documentElement.scrollWidth"); wide > float64(width) {
					t.Errorf("%s on %s with %d pixels is %v pixels wide", name, media, width, wide)
				}
				for pale := range strings.SplitSeq(strings.TrimSpace(p.text(contrasts)), "\n") {
					if pale != "" {
						t.Errorf("%s: %s", name, pale)
					}
				}
				if n := p.number(`document.querySelectorAll("svg.timeline rect.bar").length`); n < 1 {
					t.Errorf("%s: unexpected number of bars: %v", name, n)
				}
				p.save(fmt.Sprintf("report-%s-%s-%d", name, media, width))
			}
		}
	}
}
