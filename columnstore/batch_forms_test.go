package columnstore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// flat returns a batch whose stacks are flat.
func flat(b schema.Batch) schema.Batch {
	stacks := b.Columns["stack"]
	var elements []uuid.UUID
	offsets := []int32{0}
	for _, list := range stacks.UUIDLists {
		elements = append(elements, list...)
		offsets = append(offsets, int32(len(elements)))
	}
	v := encoding.Vector{Type: encoding.UUIDList, UUIDs: elements, Offsets: offsets}
	v.Valid = stacks.Valid
	b.Columns["stack"] = v
	return b
}

// TestInsert_FlatLists: flat lists give the rows of lists, in one time bucket and in several,
// with a budget too.
func TestInsert_FlatLists(t *testing.T) {
	for _, budget := range []int64{0, 64 << 20} {
		var rows [2][]string
		for i := range rows {
			store, table := open(t, Options{Manual: true, FutureLimit: -1, MemoryBudget: budget}, samples(quarter))
			f := newFleet(1, 100)
			for n := range 4 {
				b := f.profile(n, 60)
				if n%2 == 1 { // of two buckets
					times := slices.Repeat([]int64{1, quarter + 1}, 30)
					b.Columns["time"] = encoding.Int64s(times...)
				}
				if i == 1 {
					b = flat(b)
				}
				insert(t, table, b)
			}
			compact(t, store)
			rows[i] = allRows(t, table, snapshot(t, store), ScanOptions{})
		}
		if diff := cmp.Diff(rows[0], rows[1]); diff != "" || len(rows[0]) != 240 {
			t.Errorf("%d rows (-lists +flat):\n%s", len(rows[0]), diff)
		}
	}
}

// TestInsert_Nulls: nulls in each type of column, in the first row, in between and in all rows.
func TestInsert_Nulls(t *testing.T) {
	id, other := uuid.UUID{1}, uuid.UUID{2}
	def := schema.Definition{SortingKey: []string{"name", "time"}}
	values := map[string]encoding.Vector{
		"name":  encoding.Strings("a", "b", "c"),
		"time":  encoding.Int64s(1, 2, 3),
		"count": encoding.Uint64s(4, 5, 6),
		"ratio": encoding.Float64s(0.5, 1, 2),
		"flag":  encoding.Bools(true, false, true),
		"trace": encoding.UUIDs(id, other, id),
		"stack": encoding.UUIDLists([]uuid.UUID{id}, []uuid.UUID{other, id}, nil),
		"flat":  {Type: encoding.UUIDList, UUIDs: []uuid.UUID{id, other, id}, Offsets: []int32{0, 1, 3, 3}},
	}
	for _, name := range []string{"name", "time", "count", "ratio", "flag", "trace", "stack", "flat"} {
		v := values[name]
		c := schema.Column{Name: name, Type: v.Type, Encoding: encoding.Plain, Nullable: true}
		if v.Type == encoding.UUIDList || v.Type == encoding.String {
			c.Encoding = encoding.Dictionary
		}
		def.Columns = append(def.Columns, c)
	}
	for _, valid := range [][]bool{{true, true, true}, {false, true, true}, {true, false, true}, {false, false, false}} {
		store, table := open(t, Options{Manual: true}, def)
		b := schema.Batch{Rows: 3, Columns: map[string]encoding.Vector{}}
		for name, v := range values {
			v.Valid = valid
			b.Columns[name] = v
		}
		insert(t, table, b)
		compact(t, store)
		want := 0
		for _, ok := range valid {
			if ok {
				want++
			}
		}
		for name := range values {
			groups, err := table.Aggregate(t.Context(), snapshot(t, store), AggregateOptions{Where: Not(IsNull(name))})
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, n := range groups.Counts {
				got += int(n)
			}
			if got != want {
				t.Errorf("%v: %d rows have a value in %q, want %d", valid, got, name, want)
			}
		}
	}
}

// TestInsert_FlatListsAllocations: an insert of flat lists allocates as often for many rows as
// for few.
func TestInsert_FlatListsAllocations(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector allocates")
	}
	counts := map[int]float64{}
	for _, rows := range []int{100, 3000} {
		_, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(quarter))
		b := flat(newFleet(1, 50).profile(0, rows))
		b.Records = nil
		insert(t, table, b)
		counts[rows] = testing.AllocsPerRun(20, func() { insert(t, table, b) })
	}
	if counts[3000] > counts[100]+10 {
		t.Errorf("allocations by rows: %v", counts)
	}
}
