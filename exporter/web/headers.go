package web

import "net/http"

const (
	// strictPolicy lets a browser load and run nothing.
	strictPolicy = "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	// pagePolicy lets a browser load only the page's own style, icon and script, and ask only kubeflap: anyone may choose names in a
	// cluster. No other answer of kubeflap is a script, whatever names it holds: X-Content-Type-Options holds a browser to its type.
	pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// landingPolicy is for the landing page, which has an inline style and shows no names.
	landingPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	policyHeader  = "Content-Security-Policy"
)

// withHeaders sets the security headers of every answer. Those that --web.config.file sets stay.
func withHeaders(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			policyHeader: policyOf(r.URL.Path), "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if w.Header().Get(name) == "" {
				w.Header().Set(name, value)
			}
		}
		handler.ServeHTTP(w, r)
	})
}

func policyOf(path string) string {
	switch path {
	case "/":
		return landingPolicy
	case "/flaps":
		return pagePolicy
	}
	return strictPolicy
}
