package browser

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

// everyPage serves the demo, and a second cluster that has many incidents, and broken watches at the end. It returns
// the URLs of pages by name.
func everyPage(t *testing.T) map[string]string {
	t.Helper()
	incidents, blind := try(incidents())(t), try(blind())(t)
	id := regexp.MustCompile(`"id": "([^"]*)"`).FindStringSubmatch(get(t, incidents+"/api/v1/incidents?state=ongoing"))
	if id == nil {
		t.Fatal("no incident is ongoing")
	}
	return map[string]string{
		"list": incidents + "/flaps", "one": incidents + "/flaps?cluster=2-control-plane-stall", "ongoing": incidents + "/flaps?id=" + id[1],
		"filtered": incidents + "/flaps?verdict=node&from=2026-01-01T00:00:00.5Z", "empty": incidents + "/flaps?node=none", "error": incidents + "/flaps?from=yesterday",
		"many": blind + "/flaps", "blind": blind + "/flaps?node=none", "none": blind + "/flaps?id=00000000",
	}
}

func TestThePageFitsEveryScreen(t *testing.T) {
	pages := everyPage(t)
	p := open(t)
	// The pages that do not exist return an error, which the browser logs.
	p.offline.Store(true)
	backgrounds := map[string]bool{}
	for _, width := range []int64{320, 390, 768, 1024, 1280} {
		for _, colours := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d pixels, %s", width, colours), func(t *testing.T) {
				p.t = t
				p.screen(width, 800, colours)
				for name, url := range pages {
					p.run(chromedp.Navigate(url), chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil))
					p.between("the width of "+name, "document.documentElement.scrollWidth", 1, float64(width))
					p.expectContrast(name)
					p.run(chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => d.open = false)`, nil))
					p.save(fmt.Sprintf("%s-%d-%s", name, width, colours))
				}
				// What happened and the first step must be visible without scrolling, also for the first incident of the list.
				for name, last := range map[string]string{"one": ".remedy h3 + p", "list": "table.list tbody .first"} {
					p.run(chromedp.Navigate(pages[name]))
					p.between("the end of the first "+last, `document.querySelector("`+last+`").getBoundingClientRect().bottom`, 1, 800)
					p.expect("the narrowest cell", `Math.min(...[...document.querySelectorAll("table.list td")].map(e => e.getBoundingClientRect().width)) >= 100`, "^true$")
				}
				backgrounds[p.text("getComputedStyle(document.body).backgroundColor")] = true
			})
		}
	}
	if len(backgrounds) != 2 {
		t.Errorf("got backgrounds %v, want one light and one dark", backgrounds)
	}
}

// contrasts lists the texts with a contrast below WCAG 2 AA: 4.5 to 1, or 3 to 1 for large text.
const contrasts = `(() => {
	const rgb = colour => colour.match(/[\d.]+/g).map(Number);
	const light = colour => {
		const [r, g, b] = rgb(colour).map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = element => {
		for (let e = element; e; e = e.parentElement) {
			const colour = getComputedStyle(e).backgroundColor, parts = rgb(colour);
			if (parts.length === 3 || parts[3] === 1) return colour;
			if (parts[3] !== 0) throw new Error("half transparent: " + colour);
		}
		return "rgb(255, 255, 255)";
	};
	const pale = new Set();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let texts = 0;
	while (walker.nextNode()) {
		const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
		if (!text || !element.checkVisibility() || element.closest("title, option, datalist")) continue;
		texts++;
		const style = getComputedStyle(element), size = parseFloat(style.fontSize);
		const front = light(element.namespaceURI.endsWith("svg") ? style.fill : style.color), back = light(behind(element));
		const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
		const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		if (contrast < (large ? 3 : 4.5)) pale.add(element.className + " " + element.localName + " " + contrast.toFixed(2) + ": " + text.slice(0, 40));
	}
	if (texts < 5) pale.add("only " + texts + " texts");
	return [...pale].join("\n");
})()`

func TestTheBannerWhileKubeflapIsBlind(t *testing.T) {
	pages := everyPage(t)
	p := open(t)
	p.screen(1280, 800, "light")
	for _, name := range []string{"many", "blind"} {
		p.run(chromedp.Navigate(pages[name]))
		p.between("the top of the banner on "+name, `document.querySelector(".banner").getBoundingClientRect().top`, 0, 0)
		p.expect("the color of the banner on "+name, `getComputedStyle(document.querySelector(".banner")).backgroundColor`, `^rgb\(180, 35, 24\)$`)
		p.expect("the banner on "+name, `document.querySelector(".banner").innerText`, "kubeflap does not watch pods, endpointslices since 2026-03-01 ")
		p.expect("the title of "+name, "document.title", `^\(blind\) Incidents · kubeflap$`)
	}
	p.run(chromedp.Navigate(pages["list"]))
	p.between("the number of banners while all watches work", `document.querySelectorAll(".banner").length`, 0, 0)
	p.expect("the title", "document.title", `^\(2\) Incidents · kubeflap$`)
}
