package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The page is printed for post-mortems, also from a browser with dark colors.
func TestThePageFitsPaper(t *testing.T) {
	pages := everyPage(t)
	p := open(t)
	dark := emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})
	for _, name := range []string{"list", "one", "running", "blind"} {
		p.run(chromedp.EmulateViewport(700, 990), dark, chromedp.Navigate(pages[name]))
		if wide := p.number("document.documentElement.scrollWidth"); wide > 700 {
			t.Errorf("%s is %v pixels wide", name, wide)
		}
		if colour := p.text("getComputedStyle(document.body).backgroundColor"); colour != "rgb(255, 255, 255)" {
			t.Errorf("%s has the background %s", name, colour)
		}
		if n := p.number(`[...document.querySelectorAll(".filter, .choices, .pages, .skip")].filter(e => e.checkVisibility()).length`); n != 0 {
			t.Errorf("%s shows %v controls", name, n)
		}
		for pale := range strings.SplitSeq(strings.TrimSpace(p.text(contrasts)), "\n") {
			if pale != "" {
				t.Errorf("%s: %s", name, pale)
			}
		}
		p.save("paper-" + name)
	}
}
