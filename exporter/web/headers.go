package web

import "net/http"

const (
	// pagePolicy lets a browser load nothing but the page's own style, and run nothing: names from the cluster are anyone's input.
	pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// landingPolicy is for the page of links, which has its style in itself, and no name from anywhere.
	landingPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	policyHeader  = "Content-Security-Policy"
)

// Secured sets the headers of every answer. What --web.config.file sets of them was there before, and stays.
func Secured(handler http.Handler) http.Handler {
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
