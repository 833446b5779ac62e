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
	if strings.Contains(text, "granary_lake_segment") {
		t.Error("a node without segments has their metrics")
	}
	state.Store(&LakeState{Segments: &LakeSegments{
		Written: 8, Bytes: 90, Failures: 1, Unjoined: 2, Waiting: 3 * time.Second,
		Latencies: columnstore.Latencies{Count: 8, Sum: 4 * time.Second, Max: time.Second},
	}})
	text = metrics(r)
	for _, want := range []string{
		"granary_lake_segments_total 8", "granary_lake_segment_bytes_total 90", "granary_lake_segment_failures_total 1", "granary_lake_segments 2",
		"granary_lake_segment_waiting_seconds 3", "granary_lake_segment_seconds_count 8", "granary_lake_segment_seconds_sum 4", "granary_lake_segment_longest_seconds 1",
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

// TestHealth answers /healthz with the error of Options.Health.
func TestHealth(t *testing.T) {
	var health error
	r := newReceiver(t, Options{Health: func() error { return health }}, columnstore.Options{})
	r.want(http.StatusOK, "ok", r.request(http.MethodGet, "/healthz", nil))
	health = errors.New("another process has taken over")
	r.want(http.StatusServiceUnavailable, "another process has taken over", r.request(http.MethodGet, "/healthz", nil))
	r.want(http.StatusServiceUnavailable, "another process has taken over", r.request(http.MethodGet, "/readyz", nil))
}

// TestRefusal refuses pushes in their protocols before they are read, and takes them again. Questions are answered meanwhile.
func TestRefusal(t *testing.T) {
	var refusal atomic.Pointer[error]
	r := newReceiver(t, Options{Refusal: func() error {
		if err := refusal.Load(); err != nil {
			return *err
		}
		return nil
	}}, columnstore.Options{FutureLimit: -1})
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
	err := errors.New("the object store is away")
	refusal.Store(&err)
	r.want(http.StatusServiceUnavailable, "pushes are refused: the object store is away", r.request(http.MethodPost, "/pprof", small(t, 2)))
	call := r.request(http.MethodPost, "/push.v1.PusherService/Push", []byte("{}"))
	call.Header.Set("Content-Type", "application/json")
	r.want(http.StatusServiceUnavailable, `"code":"unavailable"`, call)
	r.want(http.StatusOK, "", r.request(http.MethodGet, "/pprof?type=cpu", nil))
	refusal.Store(nil)
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 2)))
}
