package columnstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Ids of a plain column are copied: a caller that changes an inserted batch does not change the rows.
// This holds for fresh parts, with nulls and without, and for rewritten parts.
func TestInsert_IDsAreCopied(t *testing.T) {
	def := stackSamples()
	def.Columns = append(def.Columns[:4:4], schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true}, def.Columns[4])
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, def)
	const rows = 300
	want := map[string]int64{} // by id
	for n := range 4 {
		b := schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint(n % 2)), "time": encoding.Int64s(int64(n)), "value": encoding.Int64s(1),
		}}
		ids, valid := make([]uuid.UUID, rows), make([]bool, rows)
		stacks := make([][]uuid.UUID, rows)
		for i := range ids {
			ids[i] = uuid.UUID{byte(i % 7), byte(n), 15: byte(i / 7)}
			stacks[i] = []uuid.UUID{{byte((i * 31) % 97)}}
			valid[i] = n%2 == 0 || i%3 == 0
			if valid[i] {
				want[ids[i].String()]++
			} else {
				want["none"]++
			}
		}
		v := encoding.UUIDs(ids...)
		if n%2 == 1 {
			v.Valid = valid
		}
		b.Columns["trace"], b.Columns["stack"] = v, encoding.UUIDLists(stacks...)
		insert(t, table, b)
		clear(ids)
	}
	for _, when := range []string{"fresh", "compacted"} {
		groups, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{By: []string{"trace"}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		values := &groups.Column("trace").Values
		for i, count := range groups.Counts {
			if values.Null(i) {
				got["none"] = count
				continue
			}
			got[values.UUIDs[i].String()] = count
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, rows by id (-want +got):\n%s", when, diff)
		}
		one := uuid.UUID{3, 1, 15: 3} // row 24 of the second batch
		groups, err = table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{Where: Equal("trace", one)})
		if err != nil || len(groups.Counts) != 1 || groups.Counts[0] != 1 {
			t.Errorf("%s: rows of %v: %+v, %v", when, one, groups, err)
		}
		compact(t, store)
	}
}

// Rows with an id are found, alone and with conditions on the same rows, in parts with an ID filter, in
// parts without, and in both.
func TestAggregate_ByID(t *testing.T) {
	def := stackSamples()
	def.Columns = append(def.Columns[:4:4], schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true}, def.Columns[4])
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, def)
	const batches, rows, ids = 8, 400, 500
	idOf := func(batch, row int) uuid.UUID {
		id := (batch*rows + row) * 7 % (ids - 1)
		if batch == batches-1 && row == 17 { // in the fresh part alone
			id = ids - 1
		}
		return uuid.UUID{byte(id), byte(id >> 8), 9: 1}
	}
	for n := range batches {
		trace, stacks, values := make([]uuid.UUID, rows), make([][]uuid.UUID, rows), make([]int64, rows)
		for i := range trace {
			trace[i], stacks[i], values[i] = idOf(n, i), []uuid.UUID{{byte(i * 31), byte(i * 31 >> 8)}}, int64(i%10)
		}
		insert(t, table, schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(fmt.Sprint(n % 2)), "time": encoding.Int64s(int64(n)),
			"value": encoding.Int64s(values...), "trace": encoding.UUIDs(trace...), "stack": encoding.UUIDLists(stacks...),
		}})
		if n == batches-2 {
			compact(t, store)
		}
	}
	for _, when := range []string{"a fresh part", "compacted"} {
		for id := -1; id < ids; id++ {
			one := uuid.UUID{byte(id), byte(id >> 8), 9: 1}
			for _, tt := range []struct {
				name  string
				where Expr
				holds func(same bool, value int) bool
			}{
				{"is", Equal("trace", one), func(same bool, _ int) bool { return same }},
				{"is, and above", And(AtLeast("value", 5), Equal("trace", one)), func(same bool, value int) bool { return same && value >= 5 }},
				{"is, or above", Or(Equal("trace", one), AtLeast("value", 9)), func(same bool, value int) bool { return same || value >= 9 }},
				{"is not", Not(Equal("trace", one)), func(same bool, _ int) bool { return !same }},
			} {
				want := int64(0)
				for row := range batches * rows {
					if tt.holds(idOf(row/rows, row%rows) == one, row%rows%10) {
						want++
					}
				}
				groups, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{Where: tt.where})
				if err != nil {
					t.Fatal(err)
				}
				got := int64(0)
				for _, count := range groups.Counts {
					got += count
				}
				if got != want {
					t.Fatalf("%s: %d rows of which trace %s %v; want %d", when, got, tt.name, one, want)
				}
			}
		}
		compact(t, store)
	}
}

// A cancelled read returns the error of its context, even if no granule can match.
func TestRead_CancelledOfNoGranule(t *testing.T) {
	def := stackSamples()
	def.Columns = append(def.Columns[:4:4], schema.Column{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true}, def.Columns[4])
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, def)
	insert(t, table, schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "time": encoding.Int64s(1), "value": encoding.Int64s(1), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
	}})
	compact(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	snap, where := snapshot(t, store), Equal("trace", uuid.UUID{1})
	if g, err := table.Aggregate(ctx, snap, AggregateOptions{Where: where}); !errors.Is(err, context.Canceled) {
		t.Errorf("Aggregate: %v, %v", g, err)
	}
	said := false
	for record, err := range table.Scan(ctx, snap, ScanOptions{Columns: []string{"value"}, Where: where}) {
		said = errors.Is(err, context.Canceled)
		if record != nil {
			t.Errorf("a record of %d rows", record.NumRows())
		}
	}
	if !said {
		t.Error("Scan did not return the error of its context")
	}
}
