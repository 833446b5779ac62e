package catalog_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// A part of an earlier run can reach over several granules of this run: each gets its own rows.
func TestRestore_PartOverGranules(t *testing.T) {
	b, _ := querytest.Batch(rand.New(rand.NewPCG(1, 2)), 60, 5)
	before := querytest.Open(t, querytest.Options{}, querytest.Samples(100))
	restore := func(table *querytest.Table) {
		table.Edit(func(e *catalog.TableEdit) {
			for _, placed := range before.Place(b) {
				placed.Part.Stamp(1, 2)
				e.Restore(placed.Part)
			}
		})
		checkTable(t, table)
	}
	table := querytest.Open(t, querytest.Options{GranuleRows: 4}, querytest.Samples(100))
	table.Insert(b)
	table.Compact()
	if n := table.State().Granules.Len(); n < 5 {
		t.Fatalf("%d granules", n)
	}
	restore(table)
	rows := 0
	for _, g := range table.State().Granules.All() {
		lo, hi := g.Bounds()
		for _, s := range g.Sections() {
			rows += s.Rows()
			for row := s.Lo; row < s.Hi; row++ {
				if key := string(s.Part.AppendKey(nil, table.Env.Schema, row)); key < lo || hi != "" && key >= hi {
					t.Errorf("row %d of %d is in the granule from %x to %x", row, s.Part.Rows(), lo, hi)
				}
			}
		}
	}
	if rows != 120 {
		t.Errorf("%d rows, want 120", rows)
	}
	again := querytest.Open(t, querytest.Options{}, querytest.Samples(100)) // the series and columns are new
	restore(again)
	if got := again.State().Family("tags"); len(got) != 1 {
		t.Errorf("tags %q", got)
	}
}

// A state without its buckets comes back from a manifest, and its notes with it.
func TestResume(t *testing.T) {
	table := querytest.Open(t, querytest.Options{BucketRows: 3, Retention: 100}, querytest.Samples(10))
	for at := range int64(150) {
		table.Insert(querytest.OneRow(at))
	}
	table.Seal(90)
	table.Edit(func(e *catalog.TableEdit) {
		for _, note := range []string{"b", "a", "b"} {
			if err := e.Note(note, 0); err != nil {
				t.Error(err)
			}
		}
	})
	saved := table.State().Save()
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	var read catalog.Saved
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	again := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	again.Edit(func(e *catalog.TableEdit) {
		if err := e.Resume(read); err != nil {
			t.Error(err)
		}
	})
	if got := again.State().Save(); !cmp.Equal(got, saved) || got.LastUnit == 0 || got.Dropped == 0 || !cmp.Equal(got.Notes, []string{"b", "a"}) {
		t.Errorf("saved %+v, want %+v", got, saved)
	}
	read.Notes = append(read.Notes, strings.Repeat("x", schema.MaxString+1))
	again.Edit(func(e *catalog.TableEdit) {
		if err := e.Resume(read); !errors.Is(err, schema.ErrLimit) {
			t.Errorf("a long note: %v", err)
		}
	})
}

// Notes are distinct, in order, and bounded by number and bytes. A note that is refused changes nothing.
func TestNote(t *testing.T) {
	table := querytest.Open(t, querytest.Options{}, querytest.Samples(10))
	table.Edit(func(e *catalog.TableEdit) {
		for _, test := range []struct {
			name, text string
			most       int64
			want       error
		}{
			{"first", "b", 0, nil},
			{"second", "a", 0, nil},
			{"again", "b", 0, nil},
			{"not UTF-8", "\xff", 0, schema.ErrLimit},
			{"longest", strings.Repeat("x", schema.MaxString), 0, nil},
			{"too long", strings.Repeat("y", schema.MaxString+1), 0, schema.ErrLimit},
			{"too many bytes", "cc", schema.MaxString + 3, schema.ErrLimit},
			{"as many bytes as fit", "c", schema.MaxString + 3, nil},
			{"a bound above that of all", "d", 1 << 40, nil},
		} {
			before := len(e.State.Notes)
			err := e.Note(test.text, test.most)
			if !errors.Is(err, test.want) || err != nil && len(e.State.Notes) != before {
				t.Errorf("%s: %v, want %v", test.name, err, test.want)
			}
		}
	})
	checkTable(t, table)
	state := table.State()
	if n := len(state.Notes); n != 5 || state.Notes[0] != "b" || state.Notes[1] != "a" {
		t.Errorf("%d notes", n)
	}
	table.Edit(func(e *catalog.TableEdit) {
		for i := range 1 << 10 {
			if err := e.Note(strings.Repeat("n", 1+i), 0); (err == nil) != (i < 1<<10-5) {
				t.Fatalf("note %d: %v", i, err)
			}
		}
	})
}
