package browser

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the documentation's picture")

const (
	// picture is of an incident in full. The README includes it.
	picture = "../../docs/images/incident-light.webp"
	// These sizes in bytes limit the picture. An empty page has fewer bytes.
	minPicture, maxPicture = 20_000, 70_000
	// pictureWidth is the width in pixels. GitHub scales pictures down to less.
	pictureWidth = 1000
)

// TestPicturesOfTheDocumentation checks that the picture is small. With -update, it takes the picture.
func TestPicturesOfTheDocumentation(t *testing.T) {
	if *update {
		takePicture(t)
	}
	if is := try(os.ReadFile(picture))(t); !strings.HasPrefix(string(is), "RIFF") || len(is) > maxPicture || len(is) < minPicture {
		t.Errorf("%s has %d bytes, or is not WebP; want %d to %d", picture, len(is), minPicture, maxPicture)
	}
}

// takePicture takes a picture of a page, from its top down to the considered hypotheses.
func takePicture(t *testing.T) {
	t.Helper()
	stalled := try(replayed("../../exporter/recording/incidents/2-control-plane-stall.jsonl.gz"))(t)
	p := open(t)
	p.screen(pictureWidth, 800, "light")
	p.run(emulation.SetDeviceMetricsOverride(pictureWidth, 800, 1, false),
		chromedp.Navigate(stalled+"/flaps"), chromedp.WaitVisible(".considered", chromedp.ByQuery))
	height := p.number(`document.querySelector(".considered").getBoundingClientRect().bottom`) + 4
	var png []byte
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		png, err = cdp.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&cdp.Viewport{Width: pictureWidth, Height: height, Scale: 1}).Do(ctx)
		return err
	}))
	// Almost without loss, the flat colours of the page give smaller files than with loss. Chromium cannot write them.
	cwebp := exec.CommandContext(t.Context(), "cwebp", "-quiet", "-near_lossless", "0", "-m", "6", "-o", picture, "--", "-")
	cwebp.Stdin = bytes.NewReader(png)
	if out, err := cwebp.CombinedOutput(); err != nil {
		t.Fatalf("cwebp, from the package webp: %v: %s", err, out)
	}
}
