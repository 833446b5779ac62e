package server

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// TestLake shows the state of a node of a lake in /metrics and /readyz. Other servers have none.
func TestLake(t *testing.T) {
	var state atomic.Pointer[LakeState] // nil until the server is made
	r := newReceiver(t, Options{Lake: func() LakeState { return *state.Load() }}, columnstore.Options{FutureLimit: -1})
	state.Store(&LakeState{
		Oldest: time.Unix(1000, 5e8), Caught: time.Unix(2000, 0), Committed: time.Unix(3000, 0), Units: 4, Rows: 50, Failures: 6, LostRows: 7,
	})
	metrics := func(r *receiver) string {
		t.Helper()
		_, text := r.send(r.request(http.MethodGet, "/metrics", nil))
		return text
	}
	text := metrics(r)
	for _, want := range []string{
		"granary_lake_oldest_unsealed_seconds 1000.5", "granary_lake_caught_up_seconds 2000", "granary_lake_committed_seconds 3000",
		"granary_lake_units_total 4", "granary_lake_rows_total 50", "granary_lake_seal_failures_total 6", "granary_lake_lost_rows_total 7",
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	r.want(http.StatusOK, "ok", r.request(http.MethodGet, "/readyz", nil))
	state.Store(&LakeState{Err: errors.New("the table is away")})
	r.want(http.StatusServiceUnavailable, "the table is away", r.request(http.MethodGet, "/readyz", nil))
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1))) // and pushes are still taken
	if text := metrics(r); !strings.Contains(text, "\ngranary_lake_oldest_unsealed_seconds 0\n") {
		t.Error("without unsealed rows there is an oldest one")
	}
	if text := metrics(newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1})); strings.Contains(text, "granary_lake") {
		t.Error("a server of no lake has its metrics")
	}
}
