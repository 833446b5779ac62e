package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/source"
)

// madeAt is the time of the first made profile: a whole minute.
var madeAt = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

// cpuType is the type of made profiles, whose id is cpuID.
var cpuType = profile.Type{Sample: "cpu", SampleUnit: "nanoseconds", Period: "cpu", PeriodUnit: "nanoseconds"}

// asker is a server on loopback, and a client of its questions.
type asker struct {
	*Server
	db  *profile.DB // of the server
	t   testing.TB
	url string
	c   querierv1connect.QuerierServiceClient
}

func newAsker(t testing.TB, opts Options) *asker {
	t.Helper()
	s := newServer(t, opts)
	web := httptest.NewUnstartedServer(s)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetHTTP1(true)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(func() { _ = s.Wait(context.Background()) })
	t.Cleanup(web.Close)
	return &asker{s, s.db(), t, web.URL, clients(t, web.URL)["grpc"]}
}

// db returns the database of a server of a store.
func (s *Server) db() *profile.DB { return s.store().DB() }

// store returns the source of a server of a store.
func (s *Server) store() *source.Store {
	store, err := s.source.Store(source.Rows)
	if err != nil {
		panic(err)
	}
	return store
}

// made is a sample: a value of a stack, whose functions are listed from the leaf to the root.
type made struct {
	stack  string
	value  int64
	labels []string // names and values
}

// insert stores a profile of one type with labels of the whole profile.
func (a *asker) insert(at time.Time, typ profile.Type, labels map[string]string, samples ...made) {
	a.t.Helper()
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: typ.Sample, Unit: typ.SampleUnit}}, PeriodType: &pprof.ValueType{Type: typ.Period, Unit: typ.PeriodUnit},
		Period: 1, TimeNanos: at.UnixNano(), DurationNanos: int64(time.Second),
	}
	found := map[string]*pprof.Location{}
	for _, s := range samples {
		out := &pprof.Sample{Value: []int64{s.value}, Label: map[string][]string{}}
		for i := 0; i < len(s.labels); i += 2 {
			out.Label[s.labels[i]] = append(out.Label[s.labels[i]], s.labels[i+1])
		}
		for name := range strings.FieldsSeq(s.stack) {
			if found[name] == nil {
				f := &pprof.Function{ID: uint64(len(found) + 1), Name: name, Filename: name + ".go"}
				found[name] = &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f, Line: 1}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, found[name])
			}
			out.Location = append(out.Location, found[name])
		}
		p.Sample = append(p.Sample, out)
	}
	if _, err := a.db.Insert(a.t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
		a.t.Fatal(err)
	}
}

// insertMade stores profiles of two pods in three minutes, with spans: pod p has the values 11 n for n of
// 10 i + p + 1 in half minute i.
func (a *asker) insertMade() { a.insertPods(0, 1) }

// insertPods is insertMade for some pods.
func (a *asker) insertPods(pods ...int) {
	a.t.Helper()
	for i := range 6 {
		for _, pod := range pods {
			n := int64(10*i + pod + 1)
			a.insert(madeAt.Add(time.Duration(i)*30*time.Second+time.Duration(pod)*time.Millisecond), cpuType,
				map[string]string{profile.NameLabel: "process_cpu", "job": "made", "pod": fmt.Sprint("pod-", pod)},
				made{stack: "leaf f main", value: n, labels: []string{"span_id", fmt.Sprintf("%016x", 0xa0+i), "trace_id", fmt.Sprintf("%032d", 10+i)}},
				made{stack: "f main", value: 2 * n, labels: []string{"thread", fmt.Sprint(i % 2)}},
				made{stack: "leaf g main", value: 3 * n},
				made{stack: "main g f", value: 5 * n})
		}
	}
}

// everywhere returns the addresses of servers that answer from the made profiles: a store, a range of older profiles, and a
// front of two nodes.
func everywhere(t *testing.T) map[string]string {
	t.Helper()
	store := newAsker(t, Options{})
	store.insertMade()
	old := newAsker(t, Options{Older: func(_ context.Context, db *profile.DB, _, _ int64, _ func(read, of int64)) error {
		insertInto(t, db)
		return nil
	}})
	if lines, status, text := old.readOlder(t.Context(), madeRange); !isRead(lines) {
		t.Fatalf("status %d: %s", status, text)
	}
	var nodes []string
	for pod := range 2 {
		a := newAsker(t, Options{})
		a.insertPods(pod)
		nodes = append(nodes, a.url)
	}
	_, front := newFront(t, Nodes{URLs: nodes}, Options{})
	return map[string]string{"a store": store.url, "older profiles": old.url + madeRange, "a front": front}
}

// insertFiles stores the profiles of a folder of testdata, with the label job, and the label __name__
// as agents give it.
func (a *asker) insertFiles(folder string) {
	a.t.Helper()
	names, err := filepath.Glob("../testdata/profiles/" + folder + "/*.pb.gz")
	if err != nil || len(names) == 0 {
		a.t.Fatalf("no profiles in %s: %v", folder, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			a.t.Fatal(err)
		}
		kind, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".pb.gz"), "-")
		kind = strings.NewReplacer("cpu", "process_cpu", "heap", "memory").Replace(kind)
		opts := profile.InsertOptions{Labels: map[string]string{"job": folder, profile.NameLabel: kind}, Time: madeAt}
		if _, err := a.db.InsertEncoded(a.t.Context(), data, opts); err != nil {
			a.t.Fatal(err)
		}
	}
}

// view calls f with a snapshot.
func (a *asker) view(f func(ctx context.Context, snap *columnstore.Snapshot) error) {
	a.t.Helper()
	ctx := a.t.Context()
	if err := a.db.Store().View(ctx, func(snap *columnstore.Snapshot) error { return f(ctx, snap) }); err != nil {
		a.t.Fatal(err)
	}
}

// selects parses a selector of a test.
func selects(t testing.TB, text string) profile.Selector {
	t.Helper()
	s, err := profile.ParseSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
