package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestThePageKeepsItselfUpToDate checks that an open page adds new incidents without a reload, and shows a banner while
// kubeflap does not answer.
func TestThePageKeepsItselfUpToDate(t *testing.T) {
	of := func(name string, end float64) *url.URL {
		return try(url.Parse(try(replayed(try(recorded(name, crashes, end))(t)))(t)))(t)
	}
	var (
		down   atomic.Bool
		target atomic.Pointer[url.URL]
	)
	target.Store(of("four", fourCrashed))
	later := of("five", oneMore)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target.Load()) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	p := open(t)
	p.screen(1280, 800, "light")
	p.run(chromedp.Navigate(front.URL+"/flaps"), chromedp.Click("details.filter summary"), chromedp.SendKeys("input[name=service]", "typed"),
		chromedp.Evaluate(`window.first = document.querySelector("table.list tbody tr:last-child"); first.querySelector("a").focus()`, nil))
	p.expectIncidents(4)
	target.Store(later)
	await(p, "a new incident", `document.querySelectorAll("table.list tbody tr").length === 5`)
	for what, script := range map[string]string{
		"the page was not reloaded":           `window.first !== undefined`,
		"its rows were not replaced":          `window.first.isConnected && window.first === document.getElementById(window.first.id)`,
		"the focused element keeps the focus": `document.activeElement === window.first.querySelector("a")`,
		"typed text stays":                    `document.querySelector("input[name=service]").value === "typed"`,
		"the filter stays open":               `document.querySelector("details.filter").open`,
		"no two elements share an ID":         `new Set([...document.querySelectorAll("[id]")].map(e => e.id)).size === document.querySelectorAll("[id]").length`,
		"the number of rows is the server's":  `document.querySelectorAll("table.list tbody tr").length === Number(document.querySelector(".sum").textContent.match(/(\d+) in all/)[1])`,
		"the newest incident is first":        `document.querySelector("table.list tbody tr time").textContent > window.first.querySelector("time").textContent`,
	} {
		p.expect(what, script, "^true$")
	}
	p.offline.Store(true)
	down.Store(true)
	await(p, "the banner", `document.getElementById("stale") !== null`)
	p.expect("the banner", `document.getElementById("stale").innerText`, "^This page is not up to date: kubeflap has not answered since 2")
	p.expect("the title", "document.title", `^\(\?\) Incidents · kubeflap$`)
	p.save("stale-1280-light")
	down.Store(false)
	await(p, "the end of the banner", `document.getElementById("stale") === null`)
	p.expect("the title", "document.title", `^[^?]*$`)
}

// await waits until a script returns true.
func await(p *page, what, script string) {
	p.t.Helper()
	for end := time.Now().Add(3 * time.Minute); p.text("String("+script+")") != "true"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("timeout of 3 minutes: %s", what)
		}
	}
}
