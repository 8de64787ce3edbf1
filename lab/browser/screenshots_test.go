package browser

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the documentation's pictures instead of checking them")

const (
	pictures = "../../docs/images"
	// These sizes in bytes limit a picture, because the README includes pictures. An empty page has fewer bytes.
	minPicture, maxPicture = 20_000, 70_000
	// pictureWidth is the width in pixels. GitHub scales pictures down to less.
	pictureWidth = 1000
)

// TestPicturesOfTheDocumentation checks that docs/images contains exactly the pictures that -update takes, and that
// they are small.
func TestPicturesOfTheDocumentation(t *testing.T) {
	want := map[string]bool{"incident-light.webp": true}
	if *update {
		takePictures(t)
	}
	files := try(filepath.Glob(pictures + "/*.webp"))(t)
	for _, path := range files {
		name := filepath.Base(path)
		if !want[name] {
			t.Errorf("make browser-test PICTURES=-update does not take the picture %s", name)
		}
		delete(want, name)
		picture := try(os.ReadFile(path))(t)
		if !strings.HasPrefix(string(picture), "RIFF") || len(picture) > maxPicture || len(picture) < minPicture {
			t.Errorf("%s has %d bytes, or is not WebP; want %d to %d", name, len(picture), minPicture, maxPicture)
		}
	}
	for name := range want {
		t.Errorf("%s is missing: run make browser-test PICTURES=-update", name)
	}
}

// takePictures takes a picture of an incident in full.
func takePictures(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(pictures, 0o755))
	stalled := try(replayed("../../exporter/recording/incidents/2-control-plane-stall.jsonl.gz"))(t)
	p := open(t)
	p.screen(pictureWidth, 800, "light")
	p.run(emulation.SetDeviceMetricsOverride(pictureWidth, 800, 1, false))
	p.take(stalled+"/flaps", ".considered", "incident-light")
}

// take saves a picture of a page, from its top down to an element.
func (p *page) take(url, last, name string) {
	p.t.Helper()
	p.run(chromedp.Navigate(url), chromedp.WaitVisible(last, chromedp.ByQuery))
	height := p.number(`document.querySelector("`+last+`").getBoundingClientRect().bottom`) + 4
	var png []byte
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		png, err = cdp.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&cdp.Viewport{Width: pictureWidth, Height: height, Scale: 1}).Do(ctx)
		return err
	}))
	// Almost without loss, the flat colours of the page give smaller files than with loss. Chromium cannot write them.
	cwebp := exec.CommandContext(p.t.Context(), "cwebp", "-quiet", "-near_lossless", "0", "-m", "6", "-o", filepath.Join(pictures, name+".webp"), "--", "-")
	cwebp.Stdin = bytes.NewReader(png)
	if out, err := cwebp.CombinedOutput(); err != nil {
		p.t.Fatalf("cwebp, from the package webp: %v: %s", err, out)
	}
}
