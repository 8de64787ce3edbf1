package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The page is printed for post-mortems, also from a browser with dark colors.
func TestThePageFitsPaper(t *testing.T) {
	pages := everyPage(t)
	p := open(t)
	dark := emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})
	for _, name := range []string{"list", "one", "ongoing", "blind"} {
		p.run(chromedp.EmulateViewport(700, 990), dark, chromedp.Navigate(pages[name]))
		p.between("the width of "+name, "document.documentElement.scrollWidth", 1, 700)
		p.expect("the background of "+name, "getComputedStyle(document.body).backgroundColor", `^rgb\(255, 255, 255\)$`)
		p.between("the number of controls on "+name, `[...document.querySelectorAll(".filter, .skip")].filter(e => e.checkVisibility()).length`, 0, 0)
		p.expectContrast(name)
		p.expect("whether evidence is missing on "+name, `[...document.querySelectorAll(".chain li")].some(e => e.getBoundingClientRect().height < 10)`, "^false$")
		p.save("paper-" + name)
	}
}
