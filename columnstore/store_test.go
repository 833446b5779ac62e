package columnstore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

func TestMain(m *testing.M) {
	if env := os.Getenv(killedDir); env != "" {
		writeUntilKilled(env)
	}
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}

// collectRarely makes garbage collections rare until the test ends, with the race detector too. Random
// tests have small heaps and much garbage: collections took a third of their time. Tests of memory
// call collectAsUsual instead.
func collectRarely(t *testing.T) {
	t.Helper()
	setCollections(t, 400)
}

// collectAsUsual gives the test the collections that a program has by default. Only collections remove
// the contents of pools from the heap, so a heap with rare collections is not typical for a program.
func collectAsUsual(t *testing.T) {
	t.Helper()
	setCollections(t, 100)
}

func setCollections(t *testing.T, percent int) {
	t.Helper()
	before := debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// samples is a small profiling schema.
func samples(bucket int64) schema.Definition {
	def := schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "tags", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "labels", "stack", "time", "tags"},
		Header:     []string{"time"},
	}
	if bucket > 0 {
		def.Bucket = schema.Bucket{Column: "time", Width: bucket}
	}
	return def
}

// batch makes n rows at a time, with values that sum to total.
func batch(rng *rand.Rand, n int, at int64) (b schema.Batch, total int64) {
	stacks := make([][]uuid.UUID, n)
	values := make([]int64, n)
	tags := make([]string, n)
	traces := encoding.Vector{Type: encoding.UUID, UUIDs: make([]uuid.UUID, n), Valid: make([]bool, n)}
	for i := range n {
		for range 1 + rng.IntN(4) {
			stacks[i] = append(stacks[i], uuid.UUID{byte(rng.IntN(10))})
		}
		values[i] = int64(rng.IntN(1000))
		total += values[i]
		tags[i] = []string{"", "a", "b"}[rng.IntN(3)]
		if traces.Valid[i] = rng.IntN(2) == 0; traces.Valid[i] {
			traces.UUIDs[i] = uuid.UUID{byte(i), byte(at)}
		}
	}
	return schema.Batch{Rows: n, Columns: map[string]encoding.Vector{
		"kind":       encoding.Strings("cpu"),
		"labels.pod": encoding.Strings(fmt.Sprint("pod-", rng.IntN(5))),
		"stack":      encoding.UUIDLists(stacks...),
		"time":       encoding.Int64s(at),
		"tags.t":     encoding.Strings(tags...),
		"trace":      traces,
		"value":      encoding.Int64s(values...),
	}}, total
}

// open starts a store with one table; the test closes it. Times in tests are mostly not dates, so there
// is no PastLimit unless the test sets it.
func open(t testing.TB, opts Options, def schema.Definition) (*Store, *Table) {
	t.Helper()
	if opts.PastLimit == 0 {
		opts.PastLimit = -1
	}
	store, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	table, err := store.CreateTable("samples", def)
	if err != nil {
		t.Fatal(err)
	}
	return store, table
}
