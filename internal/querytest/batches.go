package querytest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
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

// Batch returns n rows with random values that sum to total, in the samples schema.
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

// OneRow returns the smallest batch of the samples schema.
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

// Stacks defines a table of samples with the columns that sums need.
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

// Pods returns a batch of one pod, with a row for each time.
func Pods(pod string, times ...int64) schema.Batch {
	stacks, values := make([][]uuid.UUID, len(times)), make([]int64, len(times))
	for i, at := range times {
		stacks[i], values[i] = []uuid.UUID{{byte(at % 3)}}, 1
	}
	return schema.Batch{Rows: len(times), Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(pod), "stack": encoding.UUIDLists(stacks...),
		"time": encoding.Int64s(times...), "value": encoding.Int64s(values...),
	}}
}

// TimesByBucket returns, for each bucket's start, the sorted times of its rows in memory.
func TimesByBucket(state *catalog.TableState) map[int64][]int64 {
	out := map[int64][]int64{}
	column := state.Schema.BucketColumn()
	if column < 0 {
		column, _ = state.Schema.Resolve("time")
	}
	for _, b := range state.Buckets.All() {
		out[b.Start] = []int64{}
		for _, g := range state.HotGranules(b) {
			for _, s := range g.Sections() {
				for _, w := range s.Part.Find(column, "time").Words().Append(nil, s.Lo, s.Hi) {
					out[b.Start] = append(out[b.Start], encoding.ToInt64(w))
				}
			}
		}
		slices.Sort(out[b.Start])
	}
	return out
}

// Heavy returns rows with one time and unique stacks.
func Heavy(at int64, rows int) schema.Batch {
	stacks := make([][]uuid.UUID, rows)
	for i := range stacks {
		stacks[i] = []uuid.UUID{{1, byte(at), byte(at >> 8), byte(i), byte(i >> 8)}, {2, byte(at), byte(at >> 8), byte(i), byte(i >> 8)}}
	}
	return schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(at), "value": encoding.Int64s(1),
	}}
}

// FewRowsEach fills a table of Stacks with series of a few rows each, and compacts them. The name of a pod
// ends with 1 if its number is odd, otherwise with 0.
func (t *Table) FewRowsEach(series, rows int) {
	for lo := 0; lo < series; lo += 500 {
		b := schema.Batch{Columns: map[string]encoding.Vector{}}
		var kinds, pods []string
		var stacks [][]uuid.UUID
		var times, values []int64
		for s := lo; s < min(lo+500, series); s++ {
			for row := range rows {
				kinds, pods = append(kinds, "cpu"), append(pods, fmt.Sprintf("pod-%05d-%d", s, s%2))
				stacks, times, values = append(stacks, []uuid.UUID{{byte(row)}}), append(times, int64(row%40)), append(values, int64(s))
			}
		}
		b.Rows = len(kinds)
		b.Columns["kind"], b.Columns["labels.pod"] = encoding.Strings(kinds...), encoding.Strings(pods...)
		b.Columns["stack"], b.Columns["time"], b.Columns["value"] = encoding.UUIDLists(stacks...), encoding.Int64s(times...), encoding.Int64s(values...)
		t.Insert(b)
	}
	t.Compact()
}
