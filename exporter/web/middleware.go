package web

import (
	"cmp"
	"net/http"
)

const (
	// strictPolicy does not let the browser load or run anything.
	strictPolicy = "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	// pagePolicy lets the browser load only the page's own style, icon and script, and send requests only to kubeflap.
	// It is strict because anyone who may create objects can choose names that the page shows. X-Content-Type-Options
	// keeps the browser from running other responses as scripts.
	pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// landingPolicy applies to the landing page, which has an inline style and shows no object names.
	landingPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// withHeaders sets the security headers of every response. It keeps headers that --web.config.file sets.
func withHeaders(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy := map[string]string{"/": landingPolicy, "/flaps": pagePolicy}[r.URL.Path]
		for name, value := range map[string]string{
			"Content-Security-Policy": cmp.Or(policy, strictPolicy), "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if w.Header().Get(name) == "" {
				w.Header().Set(name, value)
			}
		}
		handler.ServeHTTP(w, r)
	})
}
