package browser

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestHostileNamesRunNothing checks that names in recordings cannot run scripts. Every name, reason, message and writer
// in them contains markup, quotes, templates, control characters or ten thousand letters. A script would set the title
// to "ran". The browser logs violations of the Content-Security-Policy, and open then fails the test.
func TestHostileNamesRunNothing(t *testing.T) {
	files, err := filepath.Glob("../../cmd/kubeflap/testdata/hostile/*.jsonl.gz")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	base := try(replayed(files...))(t)
	p := open(t)
	p.screen(360, 800, "light")
	// The page has only one script of its own.
	const foreign = `document.querySelectorAll('script:not([src="/flaps.js"]), head script ~ script, body script').length`
	pages := []string{"/", "/flaps", "/flaps?cluster=1-heartbeat-loss", "/flaps?cluster=4-endpoints-reset", "/api/v1/incidents"}
	for i := 0; i < len(pages); i++ {
		p.run(chromedp.Navigate(base + pages[i]))
		p.between("the number of elements that a name created on "+pages[i],
			foreign+`+ document.images.length + document.querySelectorAll("iframe, object, embed, a[href^=javascript]").length`, 0, 0)
		p.expect("whether a script in a name has run on "+pages[i], `document.title === "ran"`, "false")
		if strings.HasPrefix(pages[i], "/flaps") {
			checkHostilePage(p)
		}
		if pages[i] == "/flaps" {
			for link := range strings.SplitSeq(p.text(`[...document.querySelectorAll("table.list a")].map(a => a.getAttribute("href")).join(" ")`), " ") {
				pages = append(pages, link)
			}
		}
	}
	if len(pages) != 5+4 {
		t.Errorf("got %d pages, want 9, four of them of incidents", len(pages))
	}
	t.Run("clicks and typed text", func(t *testing.T) {
		p.t = t
		p.run(chromedp.Navigate(base+"/flaps?cluster=1-heartbeat-loss"), chromedp.Click("details.filter summary"),
			chromedp.SendKeys(`input[name=service]`, `"><script>document.title='ran'</script>`), chromedp.Click(`form button`), chromedp.WaitVisible(`.empty a`))
		p.expect("whether a typed script has run", `document.title === "ran"`, "false")
		p.expect("the typed text", `document.querySelector("input[name=service]").value`, `^"><script>document\.title='ran'</script>$`)
	})
}

// checkHostilePage checks that names are shown as text, that they fit the screen, and that links only lead to kubeflap.
func checkHostilePage(p *page) {
	p.t.Helper()
	where := p.text("location.search")
	p.between("the width of "+where, "document.documentElement.scrollWidth", 1, 360)
	body := p.text("document.body.textContent")
	if !strings.Contains(body, "<script>document.title='ran'</script>") {
		p.t.Errorf("%s: the page shows no hostile name:\n%.2000s", where, body)
	}
	if strings.ContainsAny(body, "\x1b\u202e\u009b\u2028") {
		p.t.Errorf("%s: invisible characters are not escaped", where)
	}
	for link := range strings.SplitSeq(p.text(`[...document.querySelectorAll("a")].map(a => a.getAttribute("href")).join(" ")`), " ") {
		parsed, err := url.Parse(link)
		if err != nil || parsed.Scheme+parsed.Host != "" || strings.ContainsAny(link, `"'<>`+"\n\r\t") {
			p.t.Errorf("%s: unexpected link to %.80q: %v", where, link, err)
		}
		if _, err := url.ParseQuery(parsed.RawQuery); err != nil {
			p.t.Errorf("%s: invalid link %.80q: %v", where, link, err)
		}
	}
}
