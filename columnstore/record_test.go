package columnstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/querytest"
)

// groupTexts returns the rows of an answer as unordered text: from its slices, and with element names
// instead of ids if names is set.
func groupTexts(g *Groups, names bool) []string {
	out := make([]string, len(g.Sums))
	for i := range out {
		row := oracle.Row{"sum": g.Sums[i]}
		if g.Counts != nil {
			row["count"] = g.Counts[i]
		}
		for _, c := range g.Columns {
			v := &c.Values
			switch {
			case v.Type == encoding.UUIDList && c.Codes[i] != 0:
				row[c.Name] = append([]uuid.UUID{}, c.Lists.UUIDs(nil, c.Codes[i])...)
				if names {
					row = querytest.NamesOf(row, c.Name, nil)
				}
			case v.Type == encoding.UUIDList || v.Null(i):
			case v.Type == encoding.String:
				row[c.Name] = v.Strings[i]
			case v.Type == encoding.UUID:
				row[c.Name] = v.UUIDs[i]
			case v.Type == encoding.Bool:
				row[c.Name] = v.Bools[i]
			case v.Type == encoding.Int64:
				row[c.Name] = v.Int64s[i]
			case v.Type == encoding.Uint64:
				row[c.Name] = v.Uint64s[i]
			case v.Type == encoding.Float64:
				row[c.Name] = v.Float64s[i]
			}
		}
		out[i] = oracle.Text(row)
	}
	return out
}

// TestGroups_Record: an answer's record has its rows in their order, in each form, of one generation and
// of several.
func TestGroups_Record(t *testing.T) {
	effort.Alone(t)
	for _, generation := range []int{0, 1000} {
		store, table, _ := filled(t, Options{GranuleRows: 100, GenerationBuckets: generation}, 1500)
		snap := snapshot(t, store)
		for _, by := range [][]string{
			nil,
			{},
			{"stack"},
			{"kind"},
			{"stack", "labels"},
			{"zone", "stack", "flag"},
			{"host", "trace", "note"},
			{"size", "ratio", "bonus"},
			{"ids", "memo", "tags", "nums"},
			{"time"},
		} {
			for i := range 4 {
				opts := AggregateOptions{Sum: "value", By: by, NoCounts: i&1 > 0}
				if i&2 > 0 {
					opts.Where = Less("value", 20)
				}
				groups, err := table.Aggregate(context.Background(), snap, opts)
				if err != nil {
					t.Fatal(err)
				}
				for _, form := range recordForms {
					for _, names := range []bool{false, true} {
						t.Run(fmt.Sprintf("%v/%v/%v/counts=%v/where=%v/names=%v", generation, by, form, i&1 == 0, i&2 > 0, names), func(t *testing.T) {
							checkRecord(t, groups, form, names)
						})
					}
				}
			}
		}
	}
}

func checkRecord(t *testing.T, groups *Groups, form Form, names bool) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	opts := RecordOptions{Memory: mem, Form: form}
	if names {
		opts.Elements = querytest.ElementNames
	}
	rec, err := groups.Record(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if diff := cmp.Diff(groupTexts(groups, names), querytest.FormRows(rec)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var want, got []string
	for _, c := range groups.Columns {
		want = append(want, c.Name)
	}
	if want = append(want, "sum"); groups.Counts != nil {
		want = append(want, "count")
	}
	for _, f := range rec.Schema().Fields() {
		got = append(got, f.Name)
	}
	if !slices.Equal(want, got) {
		t.Errorf("columns %v, want %v", got, want)
	}
}

// TestGroups_RecordOfNothing: the columns are the same as in any answer, with counts as requested.
func TestGroups_RecordOfNothing(t *testing.T) {
	store, table, _ := filled(t, Options{}, 10)
	snap := snapshot(t, store)
	for _, by := range [][]string{{"kind"}, {"time"}, {"stack"}, {"kind", "stack"}} {
		for _, without := range []bool{false, true} {
			groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{By: by, NoCounts: without, Where: Or()})
			if err != nil {
				t.Fatal(err)
			}
			if len(groups.Sums) != 0 || (groups.Counts == nil) != without {
				t.Errorf("by %v, without counts %v: %d sums, counts %v", by, without, len(groups.Sums), groups.Counts)
			}
			rec, err := groups.Record(RecordOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if has := rec.Schema().HasField("count"); has == without || rec.NumRows() != 0 {
				t.Errorf("by %v, without counts %v: a record of %d rows and %v", by, without, rec.NumRows(), rec.Schema())
			}
			rec.Release()
		}
	}
}

// TestGroups_RecordErrors: an unknown form, and columns of different lengths.
func TestGroups_RecordErrors(t *testing.T) {
	g := &Groups{Sums: []int64{1}}
	if _, err := g.Record(RecordOptions{Form: 3}); !errors.Is(err, ErrQuery) {
		t.Errorf("unknown form: %v", err)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	g.Columns = []GroupColumn{{Name: "kind", Values: encoding.Strings("a", "b")}}
	if _, err := g.Record(RecordOptions{Memory: mem}); !errors.Is(err, arrowconv.ErrBuild) {
		t.Errorf("columns of different lengths: %v", err)
	}
}
