package querytest

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Samples is a small profiling schema.
func Samples(bucket int64) schema.Definition {
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

// Batch makes n rows at a time, with values that sum to total.
func Batch(rng *rand.Rand, n int, at int64) (b schema.Batch, total int64) {
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

// OneRow is the smallest batch of the samples schema.
func OneRow(at int64) schema.Batch {
	return schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
		"time": encoding.Int64s(at), "value": encoding.Int64s(1),
	}}
}

// At returns one row with a label and a stack of its own.
func At(time int64) schema.Batch {
	return schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(fmt.Sprint("pod-", time)),
		fmt.Sprint("labels.only", time/10): encoding.Strings("x"),
		"stack":                            encoding.UUIDLists([]uuid.UUID{{byte(time), byte(time >> 8)}}), "time": encoding.Int64s(time), "value": encoding.Int64s(time),
	}}
}

// Many returns rows of one pod and time.
func Many(at int64, pod int, lists [][]uuid.UUID, values []int64) schema.Batch {
	return schema.Batch{Rows: len(values), Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint(pod)), "stack": encoding.UUIDLists(lists...),
		"time": encoding.Int64s(at), "value": encoding.Int64s(values...),
	}}
}

// Stacks is a table of samples with the columns that sums need.
func Stacks() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.DictionaryRLE, Nullable: true},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "labels", "stack", "time"},
		Header:     []string{"time"},
		Bucket:     schema.Bucket{Column: "time", Width: 100},
	}
}
