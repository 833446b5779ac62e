package columnstore_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// spans is a table of a million spans: a service, a time, and a random trace id that no other span has. The id
// is a UUID, or a string of 32 digits.
type spans struct {
	id   schema.Column
	rows int
	rng  *rand.Rand
}

func (s *spans) definition() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "service", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			s.id,
			{Name: "micros", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"service", "time"},
	}
}

// batch returns the spans of a service, the first of which begins at a time, and the first id.
func (s *spans) batch(service string, at int64) (b schema.Batch, first uuid.UUID) {
	times, micros, ids := make([]int64, s.rows), make([]int64, s.rows), make([]uuid.UUID, s.rows)
	for i := range ids {
		times[i], micros[i] = at+int64(i), s.rng.Int64N(1e6)
		binary.LittleEndian.PutUint64(ids[i][:], s.rng.Uint64())
		binary.LittleEndian.PutUint64(ids[i][8:], s.rng.Uint64())
	}
	b = schema.Batch{Rows: s.rows, Columns: map[string]encoding.Vector{
		"service": encoding.Strings(service), "time": encoding.Int64s(times...),
		"id": encoding.UUIDs(ids...), "micros": encoding.Int64s(micros...),
	}}
	if s.id.Type == encoding.String {
		texts := make([]string, s.rows)
		for i, id := range ids {
			texts[i] = fmt.Sprintf("%x", id[:])
		}
		b.Columns["id"] = encoding.Strings(texts...)
	}
	return b, ids[0]
}

// one selects the span of an id.
func (s *spans) one(id uuid.UUID) columnstore.Expr {
	if s.id.Type == encoding.String {
		return columnstore.Equal("id", fmt.Sprintf("%x", id[:]))
	}
	return columnstore.Equal("id", id)
}

// BenchmarkEncodings has the figures of decision 0052: a column whose values do not repeat, plain and with a
// dictionary. The whole path is timed: inserts, files, and the reopened directory's scans for one id and for
// the ids of a service.
func BenchmarkEncodings(b *testing.B) {
	for _, t := range []encoding.Type{encoding.UUID, encoding.String} {
		for _, e := range []encoding.Encoding{encoding.Plain, encoding.DictionaryRLE} {
			b.Run(fmt.Sprintf("%v/%v", t, e), func(b *testing.B) {
				for b.Loop() {
					s := &spans{schema.Column{Name: "id", Type: t, Encoding: e}, 1000, rand.New(rand.NewPCG(1, 2))}
					s.run(b)
				}
			})
		}
	}
}

func (s *spans) run(b *testing.B) {
	const batches, services = 1000, 20
	opts := columnstore.Options{Dir: b.TempDir(), Sync: columnstore.SyncNever}
	store, err := columnstore.Open(opts)
	check(err)
	table, err := store.CreateTable("spans", s.definition())
	check(err)
	var took time.Duration
	var ids []uuid.UUID
	for i := range batches {
		batch, id := s.batch(fmt.Sprint("service-", i%services), int64(i)*1e6)
		ids = append(ids, id)
		begun := time.Now()
		_, err := table.Insert(b.Context(), batch)
		check(err)
		took += time.Since(begun)
	}
	begun := time.Now()
	check(store.Compact(b.Context()))
	check(store.Close()) // what is in the log is filed
	filed := time.Since(begun)
	store, err = columnstore.Open(opts)
	check(err)
	defer store.Close()
	rows := float64(batches * s.rows)
	b.ReportMetric(float64(took.Nanoseconds())/rows, "insert-ns/row")
	b.ReportMetric(float64(filed.Nanoseconds())/rows, "file-ns/row")
	b.ReportMetric(float64(store.Stats().FileBytes)/rows, "fileB/row")
	table = store.Table("spans")
	service := columnstore.Equal("service", "service-7")
	first := s.scan(b, store, table, service, batches/services*s.rows) // reads files
	one, all := time.Hour, time.Hour
	for i := range 9 {
		one = min(one, s.scan(b, store, table, s.one(ids[i*100]), 1))
		all = min(all, s.scan(b, store, table, service, batches/services*s.rows))
	}
	b.ReportMetric(first.Seconds()*1e3, "first-ms")
	b.ReportMetric(one.Seconds()*1e3, "one-ms")
	b.ReportMetric(all.Seconds()*1e3, "service-ms")
	b.ReportMetric(float64(store.Stats().Bytes())/rows, "memoryB/row")
}

// scan reads the ids of the rows that are selected, and returns the wall time.
func (s *spans) scan(b *testing.B, store *columnstore.Store, table *columnstore.Table, where columnstore.Expr, want int) time.Duration {
	begun := time.Now()
	snap, err := store.Snapshot()
	check(err)
	defer snap.Close()
	n := 0
	for rec, err := range table.Scan(b.Context(), snap, columnstore.ScanOptions{Columns: []string{"id"}, Where: where}) {
		check(err)
		n += int(rec.NumRows())
		rec.Release()
	}
	if n != want {
		b.Fatalf("%d rows, want %d", n, want)
	}
	return time.Since(begun)
}
