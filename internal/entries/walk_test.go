package entries

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/schema"
)

// told lists what a walk told it, and fails at a call.
type told struct {
	calls []string
	fails error
}

func (v *told) add(format string, args ...any) error {
	v.calls = append(v.calls, fmt.Sprintf(format, args...))
	return v.fails
}

func (v *told) AddTable(e TableEntry) error     { return v.add("table %s", e.Name) }
func (v *told) AddHistory(e HistoryEntry) error { return v.add("history %s", e.Name) }
func (v *told) Extend(e Extension) error {
	return v.add("extend %d %d %d", e.Table, e.Generation, e.Number)
}

func (v *told) Rows(e disk.Entry, w *TableContents) error {
	return v.add("rows %d %d", e.Commit, w.Ordinal)
}
func (v *told) States(w StatesWrites) error { return v.add("states %d", w.Ordinal) }
func (v *told) Units(w UnitsContents) error { return v.add("units %d", w.Table) }
func (v *told) Committed(e disk.Entry) {
	v.calls = append(v.calls, fmt.Sprintf("committed %d", e.Commit))
}

// behind returns a walk behind a manifest of commit 4 with the table a, which has time ranges, the table b and the
// history h.
func behind(v *told) *Walk {
	return NewWalk(&files.Manifest{
		Commit:    4,
		Tables:    []files.TableFiles{{Name: "a", Definition: schema.Definition{Bucket: schema.Bucket{Width: 10}}}, {Name: "b"}},
		Histories: []files.HistoryFiles{{Name: "h"}},
	}, v)
}

func commitOf(tables, histories []int) []byte {
	var writes []TableWrites
	for _, ordinal := range tables {
		writes = append(writes, TableWrites{Ordinal: ordinal})
	}
	var states []StatesWrites
	for _, ordinal := range histories {
		states = append(states, StatesWrites{Ordinal: ordinal})
	}
	return NewCommit(writes, states)
}

func TestWalk(t *testing.T) {
	v := &told{}
	w := behind(v)
	for i, e := range []disk.Entry{
		{Kind: EntryTable, Body: []byte(`{"Ordinal":1,"Name":"b","Ranges":1}`)}, // the files have it
		{Kind: EntryCommit, Commit: 4, Body: []byte("it is not read")},
		{Kind: EntryUnits, Commit: 4, Body: []byte("nor is it")},
		{Kind: EntryTable, Body: []byte(`{"Ordinal":2,"Name":"c","Ranges":1,"Definition":{"Bucket":{"Width":10}}}`)},
		{Kind: EntryHistory, Body: []byte(`{"Ordinal":0,"Name":"h"}`)},
		{Kind: EntryHistory, Body: []byte(`{"Ordinal":1,"Name":"i"}`)},
		{Kind: EntryDicts, Body: DictsHead(2, -7, 1, 0)},
		{Kind: EntryCommit, Commit: 6, Body: commitOf([]int{0, 2}, []int{1})},
		{Kind: EntryUnits, Commit: 7, Body: UnitsEntry(2, catalog.UnitsChange{})},
	} {
		if err := w.Visit(e); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	want := []string{"table c", "history i", "extend 2 -7 1", "rows 6 0", "rows 6 2", "states 1", "committed 6", "units 2", "committed 7"}
	if diff := cmp.Diff(want, v.calls); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestWalk_Malformed has entries that no store writes. What they name is not told, and they commit nothing.
func TestWalk_Malformed(t *testing.T) {
	units := catalog.UnitsChange{}
	for name, e := range map[string]disk.Entry{
		"no kind":                {Kind: 9},
		"no JSON":                {Kind: EntryTable, Body: []byte(`{"Ordinal":`)},
		"no JSON of a history":   {Kind: EntryHistory, Body: []byte(`{"Ordinal":`)},
		"another name":           {Kind: EntryTable, Body: []byte(`{"Ordinal":1,"Name":"c","Ranges":1}`)},
		"a table left out":       {Kind: EntryTable, Body: []byte(`{"Ordinal":3,"Name":"c","Ranges":1}`)},
		"a table below":          {Kind: EntryTable, Body: []byte(`{"Ordinal":-1,"Name":"a","Ranges":1}`)},
		"a table without ranges": {Kind: EntryTable, Body: []byte(`{"Ordinal":2,"Name":"c"}`)},
		"a history left out":     {Kind: EntryHistory, Body: []byte(`{"Ordinal":2,"Name":"i"}`)},
		"a short extension":      {Kind: EntryDicts, Body: []byte{1}},
		"a table to extend":      {Kind: EntryDicts, Body: DictsHead(2, 0, 1, 0)},
		"a table to commit":      {Kind: EntryCommit, Commit: 6, Body: commitOf([]int{2}, nil)},
		"a history to commit":    {Kind: EntryCommit, Commit: 6, Body: commitOf(nil, []int{1})},
		"a commit of no bytes":   {Kind: EntryCommit, Commit: 6},
		"a commit again":         {Kind: EntryCommit, Commit: 5, Body: commitOf(nil, nil)},
		"units again":            {Kind: EntryUnits, Commit: 5, Body: UnitsEntry(0, units)},
		"units of no ranges":     {Kind: EntryUnits, Commit: 6, Body: UnitsEntry(1, units)},
		"units of no table":      {Kind: EntryUnits, Commit: 6, Body: UnitsEntry(2, units)},
		"units of no bytes":      {Kind: EntryUnits, Commit: 6},
	} {
		v := &told{}
		w := behind(v)
		if err := w.Visit(disk.Entry{Kind: EntryCommit, Commit: 5, Body: commitOf(nil, nil)}); err != nil {
			t.Fatal(err)
		}
		err := w.Visit(e)
		if !errors.Is(err, ErrEntry) || !slices.Equal(v.calls, []string{"committed 5"}) {
			t.Errorf("%s: %v, told %q", name, err, v.calls)
		}
	}
}

// TestWalk_VisitorFails: an error of the visitor is returned, what it did not add is not there, and a commit that
// failed is none.
func TestWalk_VisitorFails(t *testing.T) {
	bad := errors.New("bad")
	for _, tc := range []struct {
		e       disk.Entry
		told    string
		isEntry bool
	}{
		{disk.Entry{Kind: EntryTable, Body: []byte(`{"Ordinal":2,"Name":"c","Ranges":1}`)}, "table c", true},
		{disk.Entry{Kind: EntryHistory, Body: []byte(`{"Ordinal":1,"Name":"i"}`)}, "history i", true},
		{disk.Entry{Kind: EntryDicts, Body: DictsHead(0, 0, 1, 0)}, "extend 0 0 1", false},
		{disk.Entry{Kind: EntryCommit, Commit: 5, Body: commitOf([]int{0}, nil)}, "rows 5 0", false},
		{disk.Entry{Kind: EntryCommit, Commit: 5, Body: commitOf(nil, []int{0})}, "states 0", false},
		{disk.Entry{Kind: EntryUnits, Commit: 5, Body: UnitsEntry(0, catalog.UnitsChange{})}, "units 0", false},
	} {
		v := &told{fails: bad}
		w := behind(v)
		for range 2 { // it is not known afterwards
			if err := w.Visit(tc.e); !errors.Is(err, bad) || errors.Is(err, ErrEntry) != tc.isEntry {
				t.Errorf("%s: %v", tc.told, err)
			}
		}
		if !slices.Equal(v.calls, []string{tc.told, tc.told}) {
			t.Errorf("told %q, want %q twice", v.calls, tc.told)
		}
	}
}
