package server

import (
	"context"
	"net/http"
	"net/url"

	"github.com/granarydb/granary/internal/opened"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/push"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// filesPath begins the paths of opened files.
const filesPath = "/view/"

// openedAnswer is the answer to POST /view.
type openedAnswer struct {
	// Path is that of the page of the files, from the path of the server on.
	Path string `json:"path"`
	// Refused says why some of the files are left out.
	Refused []string `json:"refused,omitempty"`
}

// filesRoutes registers the handlers for files that clients open.
func (s *Server) filesRoutes(mux *http.ServeMux) {
	s.handle(mux, toRead, web.Route{Pattern: "POST /view", Name: "view", Handler: s.pushes.Opens(s.openFiles)})
	if s.opened == nil { // a front
		return
	}
	mux.HandleFunc("GET "+filesPath+"{id}", func(w http.ResponseWriter, r *http.Request) {
		redirect(w, r, url.PathEscape(r.PathValue("id")))
	})
	gone := s.measured("view", toRead, web.Handler(func(http.ResponseWriter, *http.Request) error {
		return fault.Missing("these files are not open here, or no longer: they are closed half an hour after the last look at them. Open them again")
	}))
	mux.HandleFunc(filesPath+"{id}/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		id, inside := r.PathValue("id"), insideOf(r, filesPath)
		c := web.CallerOf(r.Context())
		o := s.opened.Take(c.Tenant, id)
		if o == nil {
			if file, has := s.files[inside.URL.Path]; has && r.Method != http.MethodPost {
				file.ServeHTTP(w, inside)
				return
			}
			gone.ServeHTTP(w, r)
			return
		}
		defer func() { s.logClose(s.opened.Leave(o)) }()
		c.Inside = filesPath + id
		o.ServeHTTP(w, inside.WithContext(web.WithCaller(inside.Context(), c)))
	})
}

// openFiles makes a store of the files of a request, and answers with the address of their page.
func (s *Server) openFiles(w http.ResponseWriter, r *http.Request, fill push.Fill) error {
	var query string
	var refused []string
	o, err := s.opened.Open(r.Context(), web.CallerOf(r.Context()).Tenant, func(ctx context.Context, db *profile.DB) ([]string, error) {
		files, err := fill(ctx, db)
		if err == nil {
			refused = files.Refused
			query, err = opened.Query(ctx, db, files.HasSides)
		}
		return files.Names, err
	})
	if err != nil {
		return err
	}
	return web.SendJSON(w, r, s.limits.ResultBytes, &openedAnswer{Path: "view/" + o.ID + "/" + query, Refused: refused})
}

// filesHandler returns the handler of queries of opened files.
func (s *Server) filesHandler(of *source.Store, names []string) http.Handler {
	mux := http.NewServeMux()
	s.questions(mux, of, false, "", names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(mux, w, r) })
}
