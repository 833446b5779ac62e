package server

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile/pgo"
)

// TestPGO answers GET /pgo with the calls of what GET /pprof answers, and refuses profiles that are of no Go program.
func TestPGO(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{})
	r.want(http.StatusNotFound, "", r.request(http.MethodGet, "/pgo", nil))
	p := variedProfile(rand.New(rand.NewPCG(1, 2)), "process_cpu", time.Now().UnixMilli())
	for _, f := range p.Function {
		f.StartLine = 3
	}
	p.Sample[0].Location = append(p.Sample[0].Location, p.Location[len(p.Location)-1])
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=a", encoded(t, p)))
	r.want(http.StatusOK, "rows", r.request(http.MethodPost, "/pprof?job=old", named(t, 3, 10)))
	parsed := func(path string) *pprof.Profile {
		t.Helper()
		code, body := r.send(r.request(http.MethodGet, path, nil))
		of, err := pprof.Parse(bytes.NewReader([]byte(body)))
		if code != http.StatusOK || err != nil {
			t.Fatalf("%s: %d, %v", path, code, err)
		}
		return of
	}
	const selector = "selector={job=%22a%22}"
	var want pgo.Edges
	if err := want.Add(parsed("/pprof?type=cpu&"+selector), 0, 1); err != nil {
		t.Fatal(err)
	}
	if got := parsed("/pgo?" + selector); got.String() != want.Profile().String() || len(got.Sample) == 0 {
		t.Errorf("the calls are\n%s\nwant\n%s", got, want.Profile())
	}
	r.want(http.StatusBadRequest, "of no Go program", r.request(http.MethodGet, "/pgo?selector={job=%22old%22}", nil))
}
