package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// tableProfile returns a profile at an hour, whose stacks are numbers of functions, leaf first. A third of the functions
// have a binary without a build id.
func tableProfile(hour int, stacks ...[]int) *pprof.Profile {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		TimeNanos:  time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC).UnixNano(),
	}
	locations := map[int]*pprof.Location{}
	for _, stack := range stacks {
		sample := &pprof.Sample{Value: []int64{1}}
		for _, n := range stack {
			l := locations[n]
			if l == nil {
				m := &pprof.Mapping{ID: uint64(len(p.Mapping) + 1), Start: 1 << 20, Limit: 1 << 30, File: fmt.Sprintf("/bin/%d", n%3)}
				if n%3 > 0 {
					m.BuildID = fmt.Sprint("id", n%3)
				}
				f := &pprof.Function{ID: uint64(len(p.Function) + 1), Name: fmt.Sprint("function", n), SystemName: fmt.Sprint("system", n), Filename: "file.go", StartLine: 3}
				l = &pprof.Location{ID: uint64(len(p.Location) + 1), Mapping: m, Address: 1<<20 + uint64(n), Line: []pprof.Line{{Function: f, Line: int64(n)}}}
				p.Mapping, p.Function, p.Location = append(p.Mapping, m), append(p.Function, f), append(p.Location, l)
				locations[n] = l
			}
			sample.Location = append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// P7: a table has the stack of each group, each stack once, of one generation of dictionaries and of several.
func TestStackTable(t *testing.T) {
	for _, hours := range [][]int{{1}, {1, 2, 400}} {
		db := testDB(t, Options{})
		for _, hour := range hours {
			for job := range 2 {
				insert(t, db, tableProfile(hour, []int{1, 2, 3}, []int{4, 2, 3}, []int{hour}), "job", fmt.Sprint(job))
			}
		}
		checkStackTable(t, db, 2+len(hours))
	}
}

// checkStackTable compares the table of all rows by stack and time with the lists and records of the answer.
func checkStackTable(t *testing.T, db *DB, distinct int) {
	t.Helper()
	groups, err := db.table.Aggregate(context.Background(), view(t, db), columnstore.AggregateOptions{By: []string{ColumnStacktrace, ColumnTimestamp, ColumnLabels + ".job"}})
	if err != nil {
		t.Fatal(err)
	}
	column := groups.Column(ColumnStacktrace)
	table, err := NewStackTable(t.Context(), column, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Ends)-1 != distinct || len(table.Groups) != len(column.Codes) {
		t.Fatalf("%d stacks of %d groups, want %d of %d", len(table.Ends)-1, len(table.Groups), distinct, len(column.Codes))
	}
	c := &table.Locations
	var binaries []MappedFile
	for i, code := range column.Codes {
		var want, got []Location
		for _, element := range column.Lists.List(nil, code) {
			l, err := DecodeLocation(column.Lists.Record(element))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, l)
		}
		stack := table.Groups[i]
		for _, at := range table.Members[table.Ends[stack]:table.Ends[stack+1]] {
			k := c.LineEnds[at]
			l := Location{Mapping: c.Texts[c.Files[at]], BuildID: c.Texts[c.BuildIDs[at]], Address: c.Addresses[at]}
			l.Frames = []Frame{{Function: c.Texts[c.Functions[k]], File: c.Texts[c.SourceFiles[k]], Line: c.Lines[k], Mapping: l.Mapping}}
			got = append(got, l)
			if b := (MappedFile{l.Mapping, l.BuildID}); !slices.Contains(binaries, b) {
				binaries = append(binaries, b)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
			t.Fatalf("group %d is %v, want %v", i, got, want)
		}
	}
	found, err := MappedFiles(t.Context(), column)
	if err != nil || !slices.Equal(found, binaries) {
		t.Fatalf("binaries are %v, %v, want %v", found, err, binaries)
	}
	if _, err := NewStackTable(t.Context(), column, 200); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Errorf("a table of 200 bytes: %v", err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, f := range map[string]func(context.Context, *columnstore.GroupColumn) error{
		"NewStackTable": func(ctx context.Context, c *columnstore.GroupColumn) error {
			_, err := NewStackTable(ctx, c, 0)
			return err
		},
		"MappedFiles": func(ctx context.Context, c *columnstore.GroupColumn) error { _, err := MappedFiles(ctx, c); return err },
	} {
		if err := f(t.Context(), groups.Column(ColumnTimestamp)); !errors.Is(err, columnstore.ErrQuery) {
			t.Errorf("%s of times: %v", name, err)
		}
		if err := f(done, column); !errors.Is(err, context.Canceled) {
			t.Errorf("%s of a cancelled context: %v", name, err)
		}
	}
}
