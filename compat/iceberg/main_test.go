package iceberg

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	pprof "github.com/google/pprof/profile"
)

func TestMain(m *testing.M) {
	if kill, ok := killed(); ok {
		kill()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// start is the time of the first profile of tests: a minute before midnight.
var start = time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC).UnixNano()

// openLake opens a new table in a folder of the test.
func openLake(t testing.TB, labels ...string) *Lake {
	t.Helper()
	l := openIn(t, t.TempDir())
	if err := l.Create(context.Background(), TableOptions{Labels: labels}); err != nil {
		t.Fatal(err)
	}
	return l
}

// openConfig opens a catalog in a folder of the test, and returns how others open it.
func openConfig(t testing.TB) (*Lake, Config) {
	t.Helper()
	c := configIn(t.TempDir())
	return openAs(t, c), c
}

// s3Endpoint is where tests put their tables, if it is set; s3.run says which can.
var s3Endpoint = flag.String("s3.endpoint", "", "the `URL` of an S3 with a bucket named granary, for tables; AWS_ACCESS_KEY_ID and so on are of the environment")

// restCatalog has the tables of tests, if it is set; rest.run starts one.
var restCatalog = flag.String("rest.catalog", "", "the `URL` of a REST catalog for tables, instead of files of SQLite")

// configIn returns where the table of a test is: in a folder, or in a namespace of its own. Other engines know the table of
// TestEngines by its usual name.
func configIn(dir string) Config {
	if *restCatalog != "" {
		c := Config{Catalog: *restCatalog}
		if dir != *enginesDir {
			c.Table = fmt.Sprintf("t%x.samples", xxh3.HashString(dir))
		}
		return c
	}
	c := Config{Catalog: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")}
	if *s3Endpoint != "" {
		c.Warehouse = "s3://granary" + dir
		c.Properties = map[string]string{"s3.endpoint": *s3Endpoint, "s3.region": "us-east-1"}
	}
	return c
}

func openIn(t testing.TB, dir string) *Lake {
	t.Helper()
	return openAs(t, configIn(dir))
}

func openAs(t testing.TB, c Config) *Lake {
	t.Helper()
	l, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// openDB opens a database in memory whose buckets are of a minute.
func openDB(t testing.TB) *profile.DB {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1, PastLimit: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := profile.Open(store, profile.Options{Bucket: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// function returns a location of one or of several functions, one of them inlined.
func locationsOf(n int) []*pprof.Location {
	var all []*pprof.Location
	for i := range n {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("pkg.f%d", i/2)} // two locations of each name
		inlined := &pprof.Function{ID: uint64(n + i + 1), Name: fmt.Sprintf("pkg.in%d", i)}
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(0x1000 + i), Line: []pprof.Line{{Function: f, Line: int64(i)}}}
		if i%5 == 0 {
			l.Line = append([]pprof.Line{{Function: inlined, Line: 1}}, l.Line...)
		}
		all = append(all, l)
	}
	return all
}

// insert inserts profiles of pods, every 20 seconds from start on. They cover labels that only
// some have, labels of samples and of numbers, traces, an empty stack, and values below 0.
func insert(t testing.TB, db *profile.DB, pods, times, samples int) {
	t.Helper()
	for at := range times {
		for pod := range pods {
			p := profileOf(pod, at, samples)
			labels := map[string]string{"job": fmt.Sprint("job", pod%2), "pod": fmt.Sprint("pod", pod)}
			if pod%3 == 0 {
				labels["zone.é"] = "süd"
			}
			if _, err := db.Insert(context.Background(), p, profile.InsertOptions{Labels: labels}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func profileOf(pod, at, samples int) *pprof.Profile {
	places := locationsOf(40)
	p := &pprof.Profile{
		TimeNanos: start + int64(at)*20e9 + int64(pod)*1111, DurationNanos: 10e9, Period: 100 + int64(pod%2),
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"},
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Location:   places,
	}
	for _, l := range places {
		for _, line := range l.Line {
			p.Function = append(p.Function, line.Function)
		}
	}
	for i := range samples {
		s := &pprof.Sample{Value: []int64{1, int64(i*7 - 3)}}
		for depth := range (i + pod) % 9 {
			s.Location = append(s.Location, places[(i*depth+pod*at)%len(places)])
		}
		if i%3 == 0 {
			s.Label = map[string][]string{"thread": {fmt.Sprint("t", i%4)}}
		}
		if i%5 == 1 {
			s.NumLabel, s.NumUnit = map[string][]int64{"bytes": {int64(i) << 40}}, map[string][]string{"bytes": {"bytes"}}
		}
		if i%7 == 2 {
			id := uuid.NewSHA1(uuid.Nil, []byte{byte(i), byte(pod), byte(at)})
			s.Label = map[string][]string{"trace_id": {fmt.Sprintf("%x", id[:])}, "span_id": {fmt.Sprintf("%x", append([]byte{0xff}, id[1:8]...))}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// snapshot returns a snapshot of a database for the rest of the test.
func snapshot(t testing.TB, db *profile.DB) *columnstore.Snapshot {
	t.Helper()
	snap, err := db.Store().Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(snap.Close)
	return snap
}

// unit is a unit of all rows of a database.
func unit(t testing.TB, db *profile.DB, node string, seal int64) Unit {
	return Unit{Node: node, Seal: seal, From: start - day, To: start + 2*day, Table: db.Table(), Snapshot: snapshot(t, db)}
}
