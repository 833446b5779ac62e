package columnstore

import (
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
