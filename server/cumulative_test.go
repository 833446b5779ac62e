package server

import (
	"bytes"
	"net/http"
	"path/filepath"
	"runtime"
	runtimepprof "runtime/pprof"
	"strings"
	"testing"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

var allocated [][]byte

//go:noinline
func allocate(n int) {
	for range n {
		allocated = append(allocated, make([]byte, 1<<20))
	}
	allocated = nil
}

// scrape returns the profile that an agent fetches from /debug/pprof/allocs.
func scrape(t *testing.T) []byte {
	t.Helper()
	runtime.GC() // the profile is of the time of the last collection
	runtime.GC()
	var b bytes.Buffer
	if err := runtimepprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPushCumulative pushes four scrapes of a process as Grafana Alloy does, while the server restarts, by Close and as if it was
// killed. The sum is what the process allocated between the first and the last.
func TestPushCumulative(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deltas")
	open := func() *receiver {
		deltas, err := profile.OpenDeltas(path, Limits{}.WithDefaults().DeltaOptions())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = deltas.Close() })
		return newReceiver(t, Options{Deltas: deltas}, columnstore.Options{Dir: filepath.Join(dir, "db")})
	}
	r := open()
	var scrapes []*pprof.Profile
	push := func(answer string) {
		data := scrape(t)
		p, err := pprof.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		scrapes = append(scrapes, p)
		request := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{
			pushSeries([]string{"__name__", "memory", "job", "api", "pod", "api-1", "service_name", "api", "__delta__", ""}, data),
		}}
		got, err := r.pushers()["connect"].Push(t.Context(), connect.NewRequest(request))
		if err != nil || got.Header().Get("Granary-Cumulative") != answer {
			t.Fatalf("scrape %d: %v, %v", len(scrapes), err, got)
		}
		allocate(len(scrapes))
	}
	reopen := func() {
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
		r = open()
	}
	push("first=1")
	push("growth=1")
	if err := r.s.deltas.Close(); err != nil {
		t.Fatal(err)
	}
	reopen()
	push("growth=1")
	reopen() // killed
	push("growth=1")

	first := scrapes[0].Copy()
	first.Scale(-1)
	between, err := pprof.Merge([]*pprof.Profile{first, scrapes[3]})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	addSums(t, want, "memory", encoded(t, between))
	got := r.sums(`{pod="api-1"}`)
	for _, typ := range []string{"memory alloc_objects count", "memory alloc_space bytes"} {
		if got[typ] != want[typ] || got[typ] < 6 {
			t.Errorf("%s: %d, want %d", typ, got[typ], want[typ])
		}
	}
	if got["memory inuse_space bytes"] == 0 {
		t.Error("nothing in use")
	}
	r.wantMetrics(`granary_push_cumulative_total{counted="growth"} 1`, `granary_push_cumulative_total{counted="first"} 0`, `granary_push_cumulative_sources 1`)
	wantLabels(t, r.labels(), `{__name__="memory", job="api", pod="api-1", service_name="api"}`)
}

// delays returns a profile of a mutex with a value, a second later for each.
func delays(t testing.TB, at, value int64) []byte {
	t.Helper()
	p, err := pprof.ParseData(small(t, value))
	if err != nil {
		t.Fatal(err)
	}
	p.SampleType = []*pprof.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
	p.PeriodType = p.SampleType[0]
	p.DurationNanos, p.TimeNanos = 0, p.TimeNanos/1e15*1e15+at*1e9
	p.Sample[0].Value[0] = value
	return encoded(t, p)
}

// TestPushCumulative_Marks pushes profiles that are differences already, by each mark of their senders, and others that are not.
func TestPushCumulative_Marks(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1, PastLimit: -1})
	ingest := func(at int64, config string) {
		body, contentType := form(t, part{"profile", delays(t, at, 100*at)}, part{"sample_type_config", []byte(config)})
		r.want(http.StatusOK, "", r.request(http.MethodPost, "/ingest?name=shop", body, "Content-Type", contentType))
	}
	for at := int64(1); at <= 3; at++ {
		ingest(at, `{"delay": {"units": "lock_nanoseconds", "display-name": "mutex_duration"}}`)
		ingest(at, `{"delay": {"units": "lock_nanoseconds", "display-name": "block_duration", "cumulative": true}}`)
		for _, path := range []string{"/pprof?pod=1&__delta__=false", "/ingest?name=marked{__delta__=false}&format=pprof"} {
			r.want(http.StatusOK, "", r.request(http.MethodPost, path, delays(t, at, 100*at)))
		}
		said := map[int64]string{
			1: "0 rows\ncontentions, delay count from the start of the process: counted as 0, because this is the first profile of its source: the next ones count by their growth\n",
			2: "2 rows\ncontentions, delay count from the start of the process: counted as the growth since the profile before\n",
		}[at]
		r.want(http.StatusOK, said, r.request(http.MethodPost, "/pprof?pod=2", delays(t, at, 100*at)))
	}
	r.want(http.StatusOK, "counted as 0, because a later profile of its source came before", r.request(http.MethodPost, "/pprof?pod=2", delays(t, 3, 300)))
	r.want(http.StatusOK, "counted as 0, because a value fell", r.request(http.MethodPost, "/pprof?pod=2", delays(t, 4, 7)))
	r.want(http.StatusOK, "counted as the growth", r.request(http.MethodPost, "/pprof?pod=2", delays(t, 5, 9)))
	r.want(http.StatusOK, "counted as 0, because the profile before is too old", r.request(http.MethodPost, "/pprof?pod=2", delays(t, 3606, 90)))
	for selector, want := range map[string]int64{
		`{service_name="shop",__name__="mutex"}`: 600, `{service_name="shop",__name__="block"}`: 200, `{pod="1"}`: 600, `{service_name="marked"}`: 600, `{pod="2"}`: 202,
	} {
		sum := int64(0)
		for typ, n := range r.sums(selector) {
			if strings.HasSuffix(typ, "delay nanoseconds") {
				sum += n
			}
		}
		if sum != want {
			t.Errorf("%s: %d, want %d", selector, sum, want)
		}
	}
}

// TestPushCumulative_Tenants tells tenants apart whose profiles have equal labels.
func TestPushCumulative_Tenants(t *testing.T) {
	r := newReceiver(t, Options{}, columnstore.Options{FutureLimit: -1, PastLimit: -1})
	for at := int64(1); at <= 3; at++ {
		for tenant, value := range map[string]int64{"a": 100 * at, "b": at} {
			r.want(http.StatusOK, "", r.request(http.MethodPost, "/pprof?__name__=mutex", delays(t, at, value), "X-Scope-OrgID", tenant))
		}
	}
	if got := r.sums("")["mutex delay nanoseconds"]; got != 200+2 {
		t.Errorf("%d, want 202", got)
	}
}

// TestPushCumulative_Whole counts first profiles as a whole, and a push that was refused counts no difference.
func TestPushCumulative_Whole(t *testing.T) {
	r := newReceiver(t, Options{FirstWhole: true}, columnstore.Options{FutureLimit: -1, PastLimit: -1})
	client := r.pushers()["connect"]
	push := func(profiles ...[]byte) error {
		request := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries([]string{"__name__", "mutex", "service_name", "a"}, profiles...)}}
		_, err := client.Push(t.Context(), connect.NewRequest(request))
		return err
	}
	if err := push(delays(t, 1, 100), delays(t, 2, 150)); err != nil {
		t.Fatal(err)
	}
	if err := push(delays(t, 3, 170), delays(t, 4, 190), []byte("no profile")); err == nil {
		t.Error("a push with a bad profile was accepted")
	}
	if err := push(delays(t, 5, 200), delays(t, 6, 30)); err != nil { // the second after a restart
		t.Fatal(err)
	}
	if got := r.sums("")["mutex delay nanoseconds"]; got != 100+50+50+30 {
		t.Errorf("%d, want 230", got)
	}
}
