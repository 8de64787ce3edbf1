// Package browser tests kubeflap's pages in a real browser. It is a separate module, so that kubeflap does not depend on a
// browser driver.
package browser

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// The demo's five recordings have seven incidents. Two are ongoing at the end.
const (
	inAll   = 7
	ongoing = 2
)

// get returns the body of a page, or an empty string if the server does not answer.
func get(t *testing.T, url string) string {
	t.Helper()
	request := try(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text := try(io.ReadAll(response.Body))(t)
	return string(text)
}

// page is a tab of the browser.
type page struct {
	context.Context
	t *testing.T
	// offline allows the browser to log failed requests.
	offline atomic.Bool
}

// open opens a tab. All tests use one browser.
func open(t *testing.T) *page {
	t.Helper()
	browser := try(browser())(t)
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	p := &page{Context: ctx, t: t}
	// The browser logs violations of the page's Content-Security-Policy, and missing files.
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if !strings.HasSuffix(e.Entry.URL, "/favicon.ico") && !p.offline.Load() {
				t.Errorf("message in the browser's log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			t.Errorf("exception: %s", e.ExceptionDetails.Error())
		}
	})
	return p
}

func (p *page) run(actions ...chromedp.Action) {
	p.t.Helper()
	must(p.t, chromedp.Run(p, actions...))
}

func (p *page) number(script string) float64 {
	p.t.Helper()
	var n float64
	p.run(chromedp.Evaluate(script, &n))
	return n
}

func (p *page) text(script string) string {
	p.t.Helper()
	var s string
	p.run(chromedp.Evaluate(script, &s))
	return s
}

// expect checks that the value of a script matches a pattern.
func (p *page) expect(what, script, pattern string) {
	p.t.Helper()
	if got := p.text("String(" + script + ")"); !regexp.MustCompile(pattern).MatchString(got) {
		p.t.Errorf("%s is %q, want it to match %s", what, got, pattern)
	}
}

// between checks that the value of a script is a number from low to high.
func (p *page) between(what, script string, low, high float64) {
	p.t.Helper()
	if n := p.number(script); n < low || n > high {
		p.t.Errorf("%s is %v, want %v to %v", what, n, low, high)
	}
}

// expectContrast checks that each text has enough contrast.
func (p *page) expectContrast(name string) {
	p.t.Helper()
	p.expect("the list of pale texts on "+name, contrasts, "^$")
}

// expectIncidents checks the number of incidents: table rows, or incident cards.
func (p *page) expectIncidents(want float64) {
	p.t.Helper()
	p.between("the number of incidents at "+p.text("location.href"),
		`document.querySelectorAll("table.list tbody tr").length || document.querySelectorAll("article.card").length`, want, want)
}

// screen sets the size and the color scheme of the page.
func (p *page) screen(width, height int64, colours string) {
	p.t.Helper()
	p.run(chromedp.EmulateViewport(width, height),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}))
}

// save stores a screenshot in a directory for a person to look at: SCREENSHOTS=directory make browser-test. The picture in
// docs/images is one-1024-light up to the considered hypotheses: cwebp -crop 0 0 1024 HEIGHT -near_lossless 0 -m 6.
func (p *page) save(name string) {
	p.t.Helper()
	directory := os.Getenv("SCREENSHOTS")
	if directory == "" {
		return
	}
	var picture []byte
	p.run(chromedp.FullScreenshot(&picture, 100))
	must(p.t, os.WriteFile(filepath.Join(directory, name+".png"), picture, 0o600))
}

func TestTheOneOnCallFindsTheIncident(t *testing.T) {
	base := try(incidents())(t)
	p := open(t)
	p.screen(1200, 900, "light")

	t.Run("ongoing incidents come first", func(t *testing.T) {
		p.t = t
		p.run(chromedp.Navigate(base + "/flaps"))
		p.expectIncidents(inAll)
		p.expect("the state of each row", `[...document.querySelectorAll("table.list tbody tr")].map(row => row.className).join(" ")`,
			"^"+strings.Repeat("ongoing ", ongoing)+"recovered")
		p.expect("the first row", `document.querySelector("table.list tbody tr").innerText.replace(/\s+/g, " ")`,
			"^ongoing for [0-9.]+s until the recording ended began 2026-11-23 .* Service kube-system/kube-controller-manager all manually managed addresses .*the Service's selector Remove the selector of Service")
		p.expect("code words on the list", `document.querySelector("table.list").innerText.match(/[a-z]+_[a-z]+/)`, "^null$")
	})
	t.Run("a filter selects incidents and changes the URL", func(t *testing.T) {
		p.t = t
		p.run(chromedp.Navigate(base+"/flaps"), chromedp.Click("details.filter summary"),
			chromedp.SendKeys(`input[name=namespace]`, "shop"), chromedp.SendKeys(`input[name=service]`, "web"),
			chromedp.Click(`form button`), chromedp.WaitVisible(`.sum a`))
		p.expectIncidents(3)
		p.expect("the URL", "location.search", "namespace=shop.*service=web")
	})
	t.Run("an opened incident shows the chain and the remedy", func(t *testing.T) {
		p.t = t
		p.run(chromedp.Click(`table.list tbody tr:first-child a`), chromedp.WaitVisible(`.remedy`))
		p.expectIncidents(1)
		p.expect("the order", `[...document.querySelectorAll("article h2, article h3, article pre, article svg, article summary")].map(e => e.localName + " " + (e.localName === "h3" ? e.innerText : "")).join("; ")`,
			"^h2 ; h3 First step; .*svg ; h3 Verdict: .*; summary ;")
		p.expect("whether the evidence is folded", `document.querySelector(".chain").checkVisibility({contentVisibilityAuto: true, visibilityProperty: true}) && document.querySelector(".more").open`, "^false$")
		p.run(chromedp.Click(".more summary"),
			chromedp.Evaluate(`document.querySelector("article h2").dataset.old = ""; document.dispatchEvent(new Event("visibilitychange"))`, nil))
		await(p, "an update of the page", `!("old" in document.querySelector("article h2").dataset)`)
		p.expect("whether the evidence is still open", `document.querySelector(".more").open`, "^true$")
		p.between("the number of chain links", `document.querySelectorAll(".chain li").length`, 5, 100)
		p.between("the width of the timeline's first bar", `document.querySelector("svg.timeline .bar").getBoundingClientRect().width`, 0.1, 1200)
		p.expect("the remedy", `document.querySelector(".remedy").textContent`, "First step")
	})
	t.Run("an alert's link leads to exactly its incident", func(t *testing.T) {
		p.t = t
		p.run(chromedp.Navigate(base + "/flaps?namespace=shop&service=web&cause=inplace_update"))
		p.expectIncidents(1)
		p.expect("the remedy", `document.querySelector(".remedy").textContent`, "readiness gate")
	})
}
