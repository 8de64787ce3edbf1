package web

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestAnUnknownClusterIsAnError checks that a mistyped cluster does not look like an all-clear.
func TestAnUnknownClusterIsAnError(t *testing.T) {
	s := serverOf(t, clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("api"), at(60)))
	for _, path := range []string{"/flaps?", "/api/v1/incidents?"} {
		for query, want := range map[string]int{"cluster=": 200, "cluster=two": 200, "cluster=tow": 400} {
			response, body := get(t, s, path+query, nil)
			text := strings.ReplaceAll(html.UnescapeString(body), `\"`, `"`)
			if response.StatusCode != want || strings.Contains(strings.ToLower(text), `parameter cluster: "tow" is not one of one, two`) != (want == 400) {
				t.Errorf("%s%s: %s, want %d:\n%s", path, query, response.Status, want, body)
			}
		}
	}
}

// TestLinksOfACardStayInItsCluster follows the links to a node, a Service and the API. Both clusters have the same
// node.
func TestLinksOfACardStayInItsCluster(t *testing.T) {
	s := serverOf(t, clusterOf("one", lostNode("web"), at(60)), clusterOf("two", lostNode("web"), at(60)))
	_, page := get(t, s, "/flaps?node=node-1&cluster=two", nil)
	_, card, _ := strings.Cut(page, "<article")
	links := map[string]int{"/flaps?": 0, "/api/v1/incidents?": 0}
	for _, link := range regexp.MustCompile(`<a [^>]*href="((/flaps\?|/api/v1/incidents\?)[^"]*)"`).FindAllStringSubmatch(card, -1) {
		links[link[2]]++
		if !strings.Contains(link[1], "cluster=two") {
			t.Errorf("the link %s leaves the cluster", link[1])
		}
		if response, _ := get(t, s, html.UnescapeString(link[1]), nil); response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", link[1], response.Status)
		}
	}
	if links["/flaps?"] != 2 || links["/api/v1/incidents?"] != 1 {
		t.Errorf("the card has the links %v, want those of the node, the Service and the API", links)
	}
}

// TestTheErrorPageHasNoLinkWithoutATarget also checks other pages.
func TestTheErrorPageHasNoLinkWithoutATarget(t *testing.T) {
	s := serverOf(t, clusterOf("", lostNode("web"), at(60)))
	for _, path := range []string{"/flaps", "/flaps?bad", "/flaps?id=gone", "/flaps?page=9"} {
		_, page := get(t, s, path, nil)
		for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(page, `id="`+link[1]+`"`) {
				t.Errorf("%s: the link to #%s leads nowhere", path, link[1])
			}
		}
	}
}
