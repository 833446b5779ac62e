package server

import (
	"net/http"

	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// mostAsked bounds the bytes of a request of an assistant.
const mostAsked = 1 << 20

// assistant returns the handler of /mcp for a tenant's profiles.
func (s *Server) assistant(of source.Source) http.Handler {
	store, err := of.Store(source.Assistants)
	if err != nil {
		return web.Handler(func(http.ResponseWriter, *http.Request) error { return err })
	}
	h := s.opts.Assist(Assisted{DB: store.DB(), MaxBytes: s.limits.QueryBytes, InTime: s.gate.InTime})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostAsked)
		h.ServeHTTP(w, r)
	})
}
