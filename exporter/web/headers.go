package web

import "net/http"

const (
	// pagePolicy lets a browser load only the page's own style and run nothing: anyone may choose names in a cluster.
	pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
	if path == "/" {
		return landingPolicy
	}
	return pagePolicy
}
