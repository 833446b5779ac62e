// Command tutorial is the profiling server that docs/tutorial.md builds.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/render"
)

func main() {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 256 << 20, Retention: 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("localhost:4041", server{db}.handler()))
}

type server struct{ db *profile.DB }

func (s server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /push", s.push)
	mux.HandleFunc("GET /top", s.answer("text/plain", s.top))
	mux.HandleFunc("GET /flamegraph", s.answer("image/svg+xml", s.flameGraph))
	mux.HandleFunc("GET /pprof", s.answer("application/octet-stream", s.pprof))
	return mux
}

func (s server) push(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err == nil {
		labels := map[string]string{}
		for name, values := range r.URL.Query() {
			labels[name] = values[0]
		}
		_, err = s.db.InsertEncoded(r.Context(), data, profile.InsertOptions{Labels: labels, Time: time.Now()})
	}
	if err != nil {
		http.Error(w, err.Error(), status(err))
	}
}

func status(err error) int {
	if errors.Is(err, columnstore.ErrMemory) {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

type question struct {
	*http.Request
	snap  *columnstore.Snapshot
	typ   profile.Type
	query profile.Query
}

func (s server) answer(kind string, write func(io.Writer, question) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var out bytes.Buffer
		selector, err := profile.ParseSelector(r.FormValue("selector"))
		if err == nil {
			err = s.db.Store().View(r.Context(), func(snap *columnstore.Snapshot) error {
				typ, err := s.db.FindType(r.Context(), snap, r.FormValue("type"))
				if err != nil {
					return err
				}
				return write(&out, question{r, snap, typ, profile.Query{Selector: selector, MaxBytes: 64 << 20}})
			})
		}
		if err != nil {
			http.Error(w, err.Error(), status(err))
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(out.Bytes())
	}
}

func (s server) top(w io.Writer, q question) error {
	stacks, err := s.db.Merge(q.Context(), q.snap, q.typ, q.query)
	if err != nil {
		return err
	}
	functions := stacks.Top()
	for _, f := range functions[:min(20, len(functions))] {
		fmt.Fprintf(w, "%10s  %s\n", profile.FormatValue(f.Flat, q.typ.SampleUnit), f.Name)
	}
	return nil
}

func (s server) flameGraph(w io.Writer, q question) error {
	stacks, err := s.db.Merge(q.Context(), q.snap, q.typ, q.query)
	if err != nil {
		return err
	}
	root := stacks.FlameGraph(profile.FlameGraphOptions{MaxNodes: 5000})
	return render.FlameGraph(w, root, render.FlameOptions{Title: q.typ.String(), Unit: q.typ.SampleUnit})
}

func (s server) pprof(w io.Writer, q question) error {
	p, err := s.db.Profile(q.Context(), q.snap, q.query, q.typ)
	if err != nil {
		return err
	}
	return p.Write(w)
}
