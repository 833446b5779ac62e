package server

import (
	"net/http"
)

// originError is an ErrRequest of a page of another site.
type originError struct{ text string }

func (e *originError) Error() string { return e.text }
func (e *originError) Unwrap() error { return ErrRequest }

// checkOrigin returns an error for a request that a browser sends for a page of another origin: one that changes
// something, and a question whose answer that page could not read, but whose cost it would cause. What is
// followed as a link is taken. Clients that are no browsers send neither header, and are taken too.
func checkOrigin(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		if err := new(http.CrossOriginProtection).Check(r); err != nil {
			return &originError{"origin: a page of another site, " + quoted(r.Header.Get("Origin")) + ", may not push or ask here"}
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
		return &originError{"origin: a page of another site may link to this server, but not load its answers"}
	}
}
