package columnstore

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// BenchmarkCodes inserts profiles of 500 rows by codes, a transaction each.
func BenchmarkCodes(b *testing.B) {
	store, err := Open(Options{Manual: true, FutureLimit: -1, PastLimit: -1, GenerationBuckets: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("samples", samples(int64(15*time.Minute)))
	if err != nil {
		b.Fatal(err)
	}
	codes, err := table.Codes(0)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	lists := make([][]uuid.UUID, 5000)
	for i := range lists {
		lists[i] = make([]uuid.UUID, 20)
		for k := range lists[i] {
			lists[i][k] = uuid.UUID{byte(k), byte(rng.IntN(1 << min(k, 8)))}
		}
	}
	stacks, err := codes.UUIDLists(nil, lists)
	if err != nil {
		b.Fatal(err)
	}
	series, err := codes.Series(map[string]string{"kind": "cpu", "labels.pod": "a", "labels.node": "n"})
	if err != nil {
		b.Fatal(err)
	}
	batches := make([]schema.Batch, 100)
	for k := range batches {
		rows, values := make([]uint32, 500), make([]int64, 500)
		for i := range rows {
			rows[i], values[i] = stacks[rng.IntN(len(stacks))], 1+rng.Int64N(100)
		}
		batches[k] = schema.Batch{Rows: 500, Series: series, Columns: map[string]encoding.Vector{
			"stack": encoding.ListCodes(rows...), "time": encoding.Int64s(0), "value": encoding.Int64s(values...),
		}}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		batch := batches[n%len(batches)]
		batch.Columns["time"].Int64s[0] = int64(n) * 1e10
		if _, err := codes.Insert(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		if n%1000 == 0 {
			b.StopTimer()
			if err := store.Compact(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/row")
}
