package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
)

// BenchmarkPagePixels asks for 200 rows of 1,200 pixels of 1,000 attributes with two million intervals, as a page
// that is loaded again: the summary is there.
func BenchmarkPagePixels(b *testing.B) {
	s := newServer(b, Options{})
	h, err := s.db().Store().CreateHistory("threads", columnstore.HistoryOptions{Start: madeAt.UnixNano()})
	if err != nil {
		b.Fatal(err)
	}
	tx := s.db().Store().Begin()
	w, err := tx.History(h)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	states := []history.Value{history.String("running"), history.String("runnable"), history.String("waiting"), {}}
	for i := range 2_000_000 {
		a, err := w.Attribute("Threads", fmt.Sprint(i%1000))
		if err == nil {
			err = w.Change(madeAt.UnixNano()+int64(i)*1000, a, states[rng.IntN(len(states))])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	for _, shares := range []string{"0", "1"} {
		b.Run("shares="+shares, func(b *testing.B) {
			bytes := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/histories/threads/pixels?p=Threads/{tid}&pixels=1200&rows=200&shares="+shares, nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
				bytes = w.Body.Len()
			}
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}
