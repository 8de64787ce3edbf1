package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestThePageWorksWithAKeyboard checks that the Tab key reaches every element of the page, in order, and that the focus
// is visible.
func TestThePageWorksWithAKeyboard(t *testing.T) {
	base := try(incidents())(t)
	p := open(t)
	p.screen(1280, 800, "light")
	const describe = `(e => [e.localName, e.id, e.name, e.getAttribute("href")].filter(x => x).join(" "))`
	for _, path := range []string{"/flaps", "/flaps?cluster=2-control-plane-stall"} {
		p.run(chromedp.Navigate(base+path), chromedp.Evaluate(`document.querySelector("details").open = true`, nil))
		want := strings.Split(p.text(`[...document.querySelectorAll("a, summary, input:not([type=hidden]), select, button")].map(`+describe+`).join("\n")`), "\n")
		var got []string
		// The fields for times have several parts, each with a tab stop.
		for range 10 * len(want) {
			p.run(chromedp.KeyEvent(kb.Tab))
			at := p.text(`document.activeElement === document.body ? "" : ` + describe + `(document.activeElement)`)
			if at == "" {
				break
			}
			if n := len(got); n > 0 && got[n-1] == at {
				continue
			}
			got = append(got, at)
			p.expect(path+": the outline of "+at, `getComputedStyle(document.activeElement).outlineStyle + " " + getComputedStyle(document.activeElement).outlineWidth`, "^solid 3px$")
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: the Tab key reaches\n%s\nwant\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	t.Run("open the first incident", func(t *testing.T) {
		p.t = t
		p.run(chromedp.Navigate(base+"/flaps"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
		p.expect("the focus after the skip link", "document.activeElement === document.querySelector('table.list tbody a')", "^true$")
		p.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".remedy"))
		p.expectIncidents(1)
	})
}
