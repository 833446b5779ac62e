package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	runtimepprof "runtime/pprof"
	runtimetrace "runtime/trace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/web"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// goTrace returns a Go execution trace with six CPU samples.
func goTrace(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../trace/golang/testdata/small.trace")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// snapshots returns traces of a flight recorder that overlap, and one of all the time, of goroutines that wait and compute.
func snapshots(t *testing.T) (some [][]byte, whole []byte) {
	t.Helper()
	var all bytes.Buffer
	recorder := runtimetrace.NewFlightRecorder(runtimetrace.FlightRecorderConfig{MinAge: time.Minute})
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	defer recorder.Stop()
	if err := runtimetrace.Start(&all); err != nil {
		t.Fatal(err)
	}
	if err := runtimepprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		var done sync.WaitGroup
		var mu sync.Mutex
		for range 4 {
			done.Go(func() {
				for range 20 {
					mu.Lock()
					for begin := time.Now(); time.Since(begin) < time.Millisecond; {
						_ = fmt.Sprint(begin)
					}
					mu.Unlock()
					time.Sleep(100 * time.Microsecond)
				}
			})
		}
		done.Wait()
		var w bytes.Buffer
		if _, err := recorder.WriteTo(&w); err != nil {
			t.Fatal(err)
		}
		some = append(some, w.Bytes())
	}
	runtimepprof.StopCPUProfile()
	runtimetrace.Stop()
	return some, all.Bytes()
}

// stateTimes returns the nanoseconds of all goroutines in each state from an instant to another. Why they wait is left out,
// because a trace does not know it of waits that began before it.
func stateTimes(t *testing.T, v *history.View, from, to int64) map[string]int64 {
	t.Helper()
	all, err := v.Match(history.Literal(golang.Goroutines), history.Any)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, a := range all {
		for in, err := range v.Range(a, max(from, v.Start()), to, history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			state, _, _ := strings.Cut(in.Value.Text(), " ")
			sums[state] += min(in.End, to) - max(in.Start, from) + 1
		}
	}
	delete(sums, "")
	return sums
}

// historyOf returns a history of a store.
func historyOf(t *testing.T, store *columnstore.Store, name string) *history.View {
	t.Helper()
	h := store.History(name)
	if h == nil {
		t.Fatalf("there is no history %q", name)
	}
	snap, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	v, err := snap.History(h)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPushTrace_Snapshots pushes traces of a flight recorder that overlap, some of them twice, before and after a restart of the
// server: their states and samples are those of one trace of all the time.
func TestPushTrace_Snapshots(t *testing.T) {
	some, whole := snapshots(t)
	dir := t.TempDir()
	for i, data := range some {
		store, err := columnstore.Open(columnstore.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		r := receiverOf(t, store, Options{})
		for range 1 + i%2 {
			r.want(http.StatusOK, `in the history "api{pod=1}"`, r.request(http.MethodPost, "/traces?service_name=api&pod=1", data))
		}
		if i == 0 || i == 3 { // without a restart
			r.want(http.StatusOK, "", r.request(http.MethodPost, "/traces?service_name=api&pod=1", some[i+1]))
		}
		if i == len(some)-1 {
			compareSnapshots(t, r, whole)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func compareSnapshots(t *testing.T, r *receiver, whole []byte) {
	t.Helper()
	alone := 0
	built, err := trace.Build(func(to trace.Target) error {
		_, err := golang.ImportWith(t.Context(), bytes.NewReader(whole), to, golang.ImportOptions{StatesAlone: true, Samples: func(s []golang.Sampled) error {
			alone += len(s)
			return nil
		}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pushed := historyOf(t, r.store, "api{pod=1}")
	from, to := built.Start()+20_000_000, min(built.End(), pushed.End())
	want, got := stateTimes(t, built.View, from, to), stateTimes(t, pushed, from, to)
	for state, ns := range want {
		// The clocks of two traces differ by the time that it takes to read them.
		if d := got[state] - ns; max(d, -d) > 200_000 {
			t.Errorf("%s for %d ns, want %d", state, got[state], ns)
		}
	}
	if len(want) < 3 || len(got) < 3 {
		t.Errorf("%v, want %v", got, want)
	}
	sums := r.sums(`{service_name="api",pod="1"}`)["process_cpu samples count"]
	if sums < int64(alone)-2 || sums > int64(alone) || alone < 10 { // a sample can be behind the last snapshot
		t.Errorf("%d samples, want %d", sums, alone)
	}
}

// TestPushTrace_AtOnce pushes traces of one process at once, and of others: each sample counts once.
func TestPushTrace_AtOnce(t *testing.T) {
	some, whole := snapshots(t)
	r := newReceiver(t, Options{}, columnstore.Options{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			pod := 1 + i/10
			if status, text := r.send(r.request(http.MethodPost, fmt.Sprint("/traces?service_name=api&pod=", pod), some[i%len(some)])); status != http.StatusOK {
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
	all.Wait()
	compareSnapshots(t, r, whole)
}

// TestPushTrace takes traces of tenants, compressed or not, by pprof too, and refuses others.
func TestPushTrace(t *testing.T) {
	data := goTrace(t)
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1, PastLimit: -1})
	r.want(http.StatusOK, "12 rows", r.request(http.MethodPost, "/traces?service_name=api", gzipped.Of(t, data)))
	r.want(http.StatusOK, "0 rows", r.request(http.MethodPost, "/traces?service_name=api", data))
	r.want(http.StatusOK, "12 rows", r.request(http.MethodPost, "/traces", data, web.TenantHeader, "a", "Content-Encoding", "identity", "X-Idempotency-Key", "1"))
	r.want(http.StatusOK, "0 rows", r.request(http.MethodPost, "/traces", data, web.TenantHeader, "a", "X-Idempotency-Key", "1"))
	r.want(http.StatusOK, "12 rows", r.request(http.MethodPost, "/tenants/b/traces?service_name=api", gzipped.Of(t, data), "Content-Encoding", "gzip"))
	r.want(http.StatusOK, "12 rows", r.request(http.MethodPost, "/pprof?service_name=other", data))
	wantSums(t, r.sums(`{}`), map[string]int64{"process_cpu samples count": 24, "process_cpu cpu nanoseconds": 240_000_000})
	r.want(http.StatusOK, `"first":"2026-`, r.request(http.MethodGet, "/api/v1/histories", nil))
	for tenant, name := range map[string]string{"a": "unknown_service", "b": "api", profile.Anonymous: "api"} {
		if got := profile.TenantHistories(r.store, tenant); len(got) != 1 || got[0] != name {
			t.Errorf("histories of %s: %q", tenant, got)
		}
	}
	r.want(http.StatusOK, "known", r.request(http.MethodGet, "/api/v1/states?h=api&p=Goroutines/{track}&t=cpu", nil))
	r.want(http.StatusOK, `"all":`, r.request(http.MethodGet, "/api/v1/meanwhile?h=api&p=Goroutines/{track}&t=cpu&attribute=Goroutines/0&state=waiting", nil))
	for body, want := range map[string]string{
		"":                          "invalid Go execution trace: it does not begin as one",
		"some words":                "it does not begin as one",
		string(data[:16]):           "it has no events",
		"go 1.21 trace\x00\x00\x00": "it is a trace of Go 1.21 or before",
	} {
		status, text := r.send(r.request(http.MethodPost, "/traces?service_name=bad", []byte(body), web.TenantHeader, "c"))
		if status < 400 || status >= 500 || !strings.Contains(text, want) {
			t.Errorf("%.20q: status %d, %s, want %s", body, status, text, want)
		}
	}
	if r.s.tableOf("c") != nil || len(profile.TenantHistories(r.store, "c")) > 0 {
		t.Error("nonsense made a tenant")
	}
	if _, err := r.store.CreateHistory("threads", columnstore.HistoryOptions{}); err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusBadRequest, "one of another tenant's", r.request(http.MethodPost, "/traces?service_name=tenants/a/b", data))
}

// TestPushTrace_Wakes asks what ended the waits of pushed traces: a goroutine, by its place, ended some of them.
func TestPushTrace_Wakes(t *testing.T) {
	some, _ := snapshots(t)
	r := newReceiver(t, Options{}, columnstore.Options{})
	for _, data := range some[:2] {
		r.want(http.StatusOK, `in the history "api"`, r.request(http.MethodPost, "/traces?service_name=api", data))
	}
	ask := func(path string, out any) {
		status, text := r.send(r.request(http.MethodGet, "/api/v1/histories/api/"+path, nil))
		if err := json.Unmarshal([]byte(text), out); status != http.StatusOK || err != nil {
			t.Fatalf("%s: status %d, %v: %s", path, status, err, text)
		}
	}
	var stats page.StatsAnswer
	ask("stats?p=Goroutines/*&by=attribute,waker,state&rows=1000", &stats)
	waits := 0
	for _, row := range stats.Rows {
		if _, err := strconv.Atoi(row.Key[1]); err == nil && row.Key[2] == "waiting (sync)" {
			waits += row.Count
		}
	}
	var pixels page.PixelsAnswer
	ask("pixels?p=Goroutines/*&wakes=1", &pixels)
	arrows := 0
	for _, wake := range pixels.Wakes {
		if wake.ByRow >= 0 && pixels.Rows[wake.ByRow].Attribute == wake.By {
			arrows++
		}
	}
	if waits < 10 || arrows < 10 {
		t.Errorf("a goroutine ended %d waits for a lock, of %+v, and %d of %d waits of rows", waits, stats.Rows, arrows, len(pixels.Wakes))
	}
}

// TestPushTrace_Kept drops states that are older than the tenant keeps, and goes on with processes that were forgotten.
func TestPushTrace_Kept(t *testing.T) {
	keep := 50 * time.Millisecond
	r := newReceiver(t, Options{Limits: Limits{Series: 1000}, Tenants: map[string]TenantLimits{
		"a": {TableLimits: columnstore.TableLimits{Retention: keep}}, OtherTenants: {},
	}}, columnstore.Options{FutureLimit: -1, PastLimit: -1})
	data := goTrace(t)
	r.want(http.StatusOK, "12 rows", r.request(http.MethodPost, "/traces?service_name=api", data, web.TenantHeader, "a"))
	v := historyOf(t, r.store, profile.TenantName("a", "api"))
	if kept := v.End() - v.Start(); kept < int64(keep) || kept > int64(keep)*17/16 {
		t.Errorf("%v are kept, want %v", time.Duration(kept), keep)
	}
	for pod := range 120 {
		r.want(http.StatusOK, "12 rows", r.request(http.MethodPost, fmt.Sprint("/traces?pod=", pod), data))
	}
	r.want(http.StatusOK, "0 rows", r.request(http.MethodPost, "/traces?pod=0", data))
	if _, err := r.store.CreateHistory("other", columnstore.HistoryOptions{}); err != nil {
		t.Fatal(err)
	}
	tx := r.store.Begin()
	w, err := tx.History(r.store.History("other"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.Attribute("thread")
	if err == nil {
		err = w.Change(1, a, history.Int(1))
	}
	if err == nil {
		_, err = tx.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.want(http.StatusBadRequest, "is not one of pushed traces", r.request(http.MethodPost, "/traces?service_name=other", data))
}

// TestPushTrace_Full pushes more states than the store has room for: a push is refused as a whole or goes on later, and the
// server is not ready.
func TestPushTrace_Full(t *testing.T) {
	effort.Slow(t)
	some, _ := snapshots(t)
	r := newReceiver(t, Options{}, columnstore.Options{MemoryBudget: 1 << 20})
	taken, refused := 0, 0
	for _, data := range some {
		for pod := range 20 {
			switch status, text := r.send(r.request(http.MethodPost, fmt.Sprint("/traces?pod=", pod), data)); {
			case status == http.StatusOK:
				taken++
			case status == http.StatusServiceUnavailable && strings.Contains(text, "memory budget"):
				refused++
				r.want(http.StatusServiceUnavailable, "pushes are refused", r.request(http.MethodGet, "/readyz", nil))
			default:
				t.Errorf("status %d: %s", status, text)
			}
		}
	}
	if taken == 0 || refused == 0 {
		t.Errorf("%d traces are taken, %d are refused", taken, refused)
	}
	if v := historyOf(t, r.store, "unknown_service{pod=0}"); len(stateTimes(t, v, v.Start(), v.End())) < 3 {
		t.Error("the first process has no states")
	}
}
