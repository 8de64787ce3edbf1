package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// iconLink returns the URL of the page's icon. Each icon has its own URL, so that the browser loads a changed icon.
func iconLink(running int, blind bool) string {
	return "/flaps.svg?" + url.Values{"running": {strconv.Itoa(running)}, "blind": {strconv.FormatBool(blind)}}.Encode()
}

// iconHandler draws an icon with the number of running incidents. The icon is red if there are any. If there are none,
// it is green, or gray with a question mark if some resources are not watched.
func iconHandler(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	running, err := strconv.ParseUint(parameters.Get("running"), 10, 32)
	if err != nil {
		http.Error(w, "Parameter running is not a number.", http.StatusBadRequest)
		return
	}
	blind, err := strconv.ParseBool(parameters.Get("blind"))
	if err != nil {
		http.Error(w, "Parameter blind is neither true nor false.", http.StatusBadRequest)
		return
	}
	text, colour, size := strconv.FormatUint(running, 10), "#b42318", 22
	switch {
	case running == 0 && blind:
		text, colour = "?", "#57606a"
	case running == 0:
		text, colour = "0", "#1a7f37"
	case running > 99:
		text, size = "99+", 15
	}
	w.Header().Set("Cache-Control", "max-age=86400")
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="%s"/>`+
		`<text x="16" y="16" dy=".36em" text-anchor="middle" font-family="sans-serif" font-weight="bold" font-size="%d" fill="#fff">%s</text></svg>`+"\n",
		colour, size, text)
}
