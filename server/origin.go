package server

import (
	"net/http"

	"github.com/granarydb/granary/server/internal/fault"
)

// checkOrigin returns an error for a request that a browser sends for a page of another origin, because it
// could change something, or cause the cost of a query whose answer that page could not read. Followed
// links are accepted. Clients other than browsers send neither header, and are accepted too.
func checkOrigin(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		if err := new(http.CrossOriginProtection).Check(r); err != nil {
			return fault.Origin("origin: a page of another site, %s, may not push or ask here", fault.Quoted(r.Header.Get("Origin")))
		}
		return nil
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
		return nil
	default:
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
			return nil
		}
		return fault.Origin("origin: a page of another site may link to this server, but not load its answers")
	}
}
