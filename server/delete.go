package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// Deletion is what POST /delete, or granary delete --selector, did.
type Deletion struct {
	Time   time.Time `json:"time"`   // of its end
	Tenant string    `json:"tenant"` // profile.Anonymous without one
	// Selector and Type are as they were given, and From and To are Unix nanoseconds, 0 for no bound.
	Selector string `json:"selector,omitempty"`
	Type     string `json:"type,omitempty"`
	From     int64  `json:"from,omitempty"`
	To       int64  `json:"to,omitempty"`
	Rows     int64  `json:"rows"`            // deleted
	Error    string `json:"error,omitempty"` // why it ended before all were
}

// deleteHandler handles POST /delete: it deletes samples, of which no later answer has any, and tells how many rows.
func (s *Server) deleteHandler(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		store, err := of.Store(source.Rows)
		if err != nil {
			return err
		}
		if s.opts.Deleted == nil {
			return fault.Refused("this server deletes nothing: granary serve --allow-delete lets it")
		}
		if !s.erasing.TryLock() {
			return fault.TooMany("one deletion at a time")
		}
		defer s.erasing.Unlock()
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // because its deadline ends with it
			return err
		}
		d := Deletion{Tenant: web.CallerOf(r.Context()).Tenant}
		q, types, err := s.chooseDeleted(r.Context(), store, r.URL.RawQuery, &d)
		if err != nil {
			return err
		}
		if rec, ok := w.(*web.Recorder); ok { // it can take long
			rec.Pace(s.readGrace, s.limits.ReadRate, time.Now().AddDate(0, 0, 1))
		}
		if err := s.erase(r.Context(), store, q, types, &d); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(struct {
			Rows int64 `json:"rows"`
		}{d.Rows})
	})
}

// chooseDeleted parses the parameters of a deletion, and notes them.
func (s *Server) chooseDeleted(ctx context.Context, store *source.Store, raw string, d *Deletion) (profile.Query, []profile.Type, error) {
	p, err := s.read.Parameters(raw)
	if err != nil {
		return p.Query, nil, err
	}
	for name := range p.Rest {
		if p.Rest.Get(name) == "" { // of a script whose variable is not set
			return p.Query, nil, fault.Invalid("parameter %s is empty: leave it out; selector={} deletes all profiles", name)
		}
	}
	if len(p.Rest) == 0 {
		return p.Query, nil, fault.Invalid("nothing is chosen: want the parameter selector, type, from or to; selector={} deletes all profiles")
	}
	d.Selector, d.Type = p.Rest.Get("selector"), p.Rest.Get("type")
	var types []profile.Type
	err = store.At(ctx, func(v *source.At) error {
		err := s.read.Bounds(&p, func() (int64, error) { return v.Newest(ctx) })
		if err == nil && p.Type != "" {
			var t source.Typed
			t, err = v.FindType(ctx, p.Query, p.Type)
			types = []profile.Type{t.Type}
		}
		return err
	})
	d.From, d.To = p.Query.From, p.Query.To
	return p.Query, types, err
}

// erase deletes what was chosen, and tells Options.Deleted.
func (s *Server) erase(ctx context.Context, store *source.Store, q profile.Query, types []profile.Type, d *Deletion) (err error) {
	store.Forget() // what is held keeps files, and answers with the rows
	d.Rows, err = store.DB().Delete(ctx, q, types...)
	store.Forget()
	d.Time = s.opts.Now()
	if err != nil {
		d.Error = err.Error()
	}
	if d.Rows > 0 {
		if failed := s.opts.Deleted(*d); failed != nil && err == nil {
			err = fmt.Errorf("the log of deletions: %w", failed)
		}
	}
	return err
}
