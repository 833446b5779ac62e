package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	profilesv1 "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/server/internal/push"
)

// largeProfile is a profile with n samples, all of them 0: it takes memory on its way, and none in the store.
func largeProfile(samples int) *pprof.Profile {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
	}
	for i := range samples {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprint("main.function", i)}
		l := &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f, Line: int64(i)}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{0}, Label: map[string][]string{"n": {fmt.Sprint(i)}}})
	}
	return p
}

// largeOTLP is a request with n samples, all of them 0.
func largeOTLP(samples int) *collectorv1.ExportProfilesServiceRequest {
	r := otlpRequest(1)
	p := firstProfile(r)
	p.Samples, p.TimeUnixNano = nil, 0
	for range samples {
		p.Samples = append(p.Samples, &profilesv1.Sample{StackIndex: 1, Values: []int64{0, 0, 0, 0}})
	}
	return r
}

// way is a way of profiles into the server.
type way struct {
	path    string
	headers []string
	body    []byte
	isH2    bool
}

// waysIn returns a push of a large profile for each way in, by name.
func waysIn(t *testing.T, samples int) map[string]way {
	t.Helper()
	zipped := encoded(t, largeProfile(samples))
	var plain bytes.Buffer
	if err := largeProfile(samples).WriteUncompressed(&plain); err != nil {
		t.Fatal(err)
	}
	request := &pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{pushSeries(nil, zipped), pushSeries(nil, plain.Bytes())}}
	request.Series[0].Samples[0].ID, request.Series[1].Samples[0].ID = "", "" // each push counts
	otlp := largeOTLP(2 * samples)
	firstProfile(otlp).ProfileId = nil
	text := func(m proto.Message) []byte {
		data, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var folded strings.Builder // of names that are as short as they can be for their number
	for i := range samples {
		fmt.Fprintf(&folded, "%x;a;b 1\n", i)
	}
	debug1 := strings.Builder{}
	debug1.WriteString("x profile: total 1\n")
	for i := range samples {
		fmt.Fprintf(&debug1, "1 @ 0x1\n#\t0x%x\t%x+0x1\ta:1\n", 1+i, i)
	}
	stacks := strings.Repeat("\x02a;\x00\x01", 7) + "\x02a;\x00" + string(binary.AppendUvarint(nil, uint64(samples))) // a chain, with leaves
	for i := range samples {
		name := fmt.Sprintf("%x", i)
		stacks += string(rune(len(name))) + name + "\x01\x00"
	}
	ways := map[string]way{
		"trie":             {"/ingest?name=a&format=trie", nil, []byte(stacks), false},
		"tree zipped":      {"/ingest?name=a&format=tree", nil, gzipped.Of(t, []byte(stacks)), false},
		"pprof":            {"/pprof", nil, zipped, false},
		"pprof plain":      {"/pprof", nil, plain.Bytes(), false},
		"pprof named":      {"/pprof?__name__=a", nil, zipped, false},
		"ingest":           {"/ingest?name=a", nil, zipped, false},
		"folded":           {"/pprof", nil, []byte(folded.String()), false},
		"folded zipped":    {"/ingest?name=a&format=folded", nil, gzipped.Of(t, []byte(folded.String())), false},
		"debug1":           {"/pprof", nil, []byte(debug1.String()), false},
		"Push":             {pushPath, asProto, marshal(t, request), false},
		"Push JSON":        {pushPath, asJSON, text(request), false},
		"Push gzip":        {pushPath, append([]string{"Content-Encoding", "gzip"}, asProto...), gzipped.Of(t, marshal(t, request)), false},
		"OTLP":             {otlpPath, asX, marshal(t, otlp), false},
		"OTLP JSON":        {otlpPath, asJSON, text(otlp), false},
		"OTLP gzip":        {otlpPath, append([]string{"Content-Encoding", "gzip"}, asX...), gzipped.Of(t, marshal(t, otlp)), false},
		"OTLP Connect":     {push.OTLPProcedure, asProto, marshal(t, otlp), false},
		"OTLP Connect zip": {push.OTLPProcedure, append([]string{"Content-Encoding", "gzip"}, asProto...), gzipped.Of(t, marshal(t, otlp)), false},
	}
	multi, contentType := form(t, part{"profile", zipped})
	ways["ingest form"] = way{"/ingest?name=a", []string{"Content-Type", contentType}, multi, false}
	for name, m := range map[string]proto.Message{"Push ": request, "OTLP ": otlp} {
		path := map[string]string{"Push ": pushPath, "OTLP ": push.OTLPProcedure}[name]
		for _, kind := range []string{"application/grpc", "application/grpc-web"} {
			data := marshal(t, m)
			z := gzipped.Of(t, data)
			ways[name+kind] = way{path, []string{"Content-Type", kind, "Te", "trailers"}, framed(0, uint32(len(data)), string(data)), kind == "application/grpc"}
			ways[name+kind+" gzip"] = way{path, []string{"Content-Type", kind, "Te", "trailers", "Grpc-Encoding", "gzip"}, framed(1, uint32(len(z)), string(z)), kind == "application/grpc"}
		}
	}
	return ways
}

// pushWay sends a push and returns its status, or that of gRPC as one of HTTP, and the text of its answer.
func (r *receiver) pushWay(w way, body io.Reader) (int, string) {
	req := r.request(http.MethodPost, w.path, nil, w.headers...)
	req.Body, req.ContentLength, req.GetBody = io.NopCloser(body), -1, nil
	client := r.http
	if w.isH2 {
		client = r.h2c
	}
	resp, err := client.Do(req)
	if err != nil {
		return http.StatusServiceUnavailable, "connection: " + err.Error() // the server closed it instead of reading on
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return http.StatusServiceUnavailable, "connection: " + err.Error()
	}
	answer := string(text) + resp.Trailer.Get("Grpc-Message") + resp.Header.Get("Grpc-Message")
	if resp.Trailer.Get("Grpc-Status") == "14" || strings.Contains(strings.ToLower(answer), "grpc-status: 14") || resp.Header.Get("Grpc-Status") == "14" {
		return http.StatusServiceUnavailable, strings.ReplaceAll(answer, "%20", " ")
	}
	return resp.StatusCode, answer
}

// liveHeap returns the bytes of the heap without garbage, as collections count them: the least of three, because a
// collection counts what is allocated while it marks. HeapAlloc has what is allocated until it is read, too, which on
// a busy machine is as much as other goroutines like.
func liveHeap() int64 {
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	least := int64(math.MaxInt64)
	runtime.GC() // because a pool keeps what it has for one more
	for range 3 {
		runtime.GC()
		runtimemetrics.Read(live)
		least = min(least, int64(live[0].Value.Uint64()))
	}
	return least
}

// TestPushBytes pushes large profiles by each way at once, and stops the clock that they ask, when each has
// decompressed and decoded what it sends. The heap has what the room has, and what one push takes beyond it; pushes
// that find no room are told so. Once the clock goes on, all get in.
func TestPushBytes(t *testing.T) {
	effort.Slow(t)
	const samples, most, times = 6000, 4 << 20, 2
	ways := waysIn(t, samples)
	var stopped atomic.Pointer[chan struct{}]
	stop := func() (goOn func()) {
		c := make(chan struct{})
		stopped.Store(&c)
		return func() { close(c) }
	}
	stop()()
	var waiting atomic.Int64 // for the clock
	now := func() time.Time {
		waiting.Add(1)
		defer waiting.Add(-1)
		<-*stopped.Load()
		return time.Now()
	}
	r := newReceiver(t, Options{Limits: Limits{PushBytes: most}, Now: now}, columnstore.Options{})
	r.s.pushes.Wait = 5 * time.Millisecond
	var sent, refused, accepted atomic.Int64
	var again sync.Mutex
	push := func(name string, w way) {
		sent.Add(1)
		for tries := range 1000 {
			status, text := r.pushWay(w, bytes.NewReader(w.body))
			if status == http.StatusOK && !strings.Contains(text, "rejected") && !strings.Contains(text, "limit") {
				accepted.Add(1)
				return
			}
			if status != http.StatusServiceUnavailable || !strings.Contains(text, "4194304 bytes of memory for pushes in progress") && !strings.Contains(text, "connection: ") {
				t.Errorf("%s: status %d: %.200s", name, status, text)
			}
			if refused.Add(1); tries == 0 {
				<-*stopped.Load()
				again.Lock() // refused pushes come again one by one
				defer again.Unlock()
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("%s: never got in", name)
	}
	// held returns by how much the heap has grown when all of n pushes are refused or wait for the clock. Some may wait for one
	// that asks the clock under a lock: then no other comes for a long time.
	held := func(n int, pushes func(*sync.WaitGroup)) int64 {
		r.wait()
		before, refusedBefore := liveHeap(), refused.Load()
		goOn := stop()
		var all sync.WaitGroup
		pushes(&all)
		const long = 5 * time.Second
		for last, since := int64(-1), time.Now(); last < int64(n) && time.Since(since) < long; time.Sleep(time.Millisecond) {
			if now := waiting.Load() + refused.Load() - refusedBefore; now != last {
				last, since = now, time.Now()
			}
		}
		grown := liveHeap() - before
		goOn()
		all.Wait()
		return grown
	}
	largest := ways["Push JSON"]
	alone := held(1, func(all *sync.WaitGroup) { all.Go(func() { push("alone", largest) }) })
	grown := held(times*len(ways), func(all *sync.WaitGroup) {
		for name, w := range ways {
			for range times {
				all.Go(func() { push(name, w) })
			}
		}
	})
	t.Logf("%d pushes, %d refused: the heap grew by %d KiB, and for one by %d KiB", sent.Load(), refused.Load(), grown>>10, alone>>10)
	if connections := sent.Load() * 64 << 10; refused.Load() == 0 || grown > most+alone+connections {
		t.Errorf("%d pushes at once, %d refused: the heap grew by %d bytes", sent.Load(), refused.Load(), grown)
	}
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
	r.wait()
	if n := r.s.pushes.MemoryInUse(); n != 0 || accepted.Load() != sent.Load() {
		t.Errorf("%v bytes in use after all pushes; %d of %d were accepted", n, accepted.Load(), sent.Load())
	}
	r.wantMetrics("granary_push_memory_bytes 0")
}

// TestPushBytes_Stalled lets clients stop amid large bodies, by each way. The first that come fill the room, the
// others are refused, and the heap stays flat.
func TestPushBytes_Stalled(t *testing.T) {
	effort.Slow(t)
	const most, stalledBytes, times = 4 << 20, 1 << 20, 4
	r := newReceiver(t, Options{Limits: Limits{PushBytes: most}}, columnstore.Options{})
	r.s.pushes.Wait = time.Millisecond
	ways := waysIn(t, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var refused atomic.Int64
	var pushes sync.WaitGroup
	before, head := liveHeap(), make([]byte, stalledBytes) // of all
	for name, w := range ways {
		for range times {
			pushes.Go(func() {
				start := io.Reader(bytes.NewReader(head))
				if strings.Contains(name, "grpc") { // of a frame that is longer
					start = io.MultiReader(bytes.NewReader(framed(0, stalledBytes+1, "")), start)
				}
				if status, text := r.pushWay(w, stalled{start, ctx}); status == http.StatusServiceUnavailable && strings.Contains(text, "pushes in progress") {
					refused.Add(1)
				}
			})
		}
	}
	for last, tries := int64(0), 0; (last == 0 || last != refused.Load()) && tries < 50; tries++ {
		last = refused.Load()
		time.Sleep(200 * time.Millisecond)
	}
	peak := liveHeap() - before
	inUse := r.s.pushes.MemoryInUse()
	cancel()
	pushes.Wait()
	r.wait()
	if refused.Load() == 0 || inUse > most+8*stalledBytes || r.s.pushes.MemoryInUse() != 0 {
		t.Errorf("%d pushes refused, %v bytes were in use, and %v at the end", refused.Load(), inUse, r.s.pushes.MemoryInUse())
	}
	if limit := int64(most + 16*stalledBytes + times*len(ways)*(128<<10)); peak > limit { // and what clients and connections take
		t.Errorf("the heap grew by %d bytes for %d stalled pushes, want at most %d", peak, times*len(ways), limit)
	}
	t.Logf("%d of %d refused, the heap grew by %d KiB", refused.Load(), times*len(ways), peak>>10)
	r.want(http.StatusOK, "2 rows", r.request(http.MethodPost, "/pprof", small(t, 1)))
}
