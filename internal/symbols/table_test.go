package symbols

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding/dict"
)

// TestTable compares the frames that come from a dictionary's table with those of Locations, which decodes each record, while the
// dictionary grows. Some locations have a damaged record, or no lines, or no record until a later question.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := dict.NewLists(1)
		var elements []uuid.UUID
		var stacks []uint32
		for range rapid.IntRange(1, 3).Draw(t, "questions") {
			for range rapid.IntRange(1, 8).Draw(t, "locations") {
				var record []byte
				if rapid.IntRange(0, 5).Draw(t, "has record") > 0 {
					record = drawRecord(t)
				}
				if rapid.IntRange(0, 9).Draw(t, "is damaged") == 0 {
					record = append(record, 1)
				}
				elements = append(elements, uuid.UUID{byte(len(elements)), 1})
				if _, err := d.InternElement(elements[len(elements)-1], record); err != nil {
					t.Fatal(err)
				}
			}
			if late := rapid.SampledFrom(elements).Draw(t, "late"); rapid.Bool().Draw(t, "a record comes late") {
				if err := d.KeepRecord(late, drawRecord(t)); err != nil {
					t.Fatal(err)
				}
			}
			lists := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(elements), 0, 4), 1, 4).Draw(t, "stacks")
			codes, err := d.InternLists(nil, lists)
			if err != nil {
				t.Fatal(err)
			}
			stacks = append(stacks, codes...)
			checkTable(t, d, stacks)
		}
	})
}

// checkTable asks for stacks twice: each once by numbers.
func checkTable(t *rapid.T, d *dict.Lists, stacks []uint32) {
	decoded := New(d.View(), stacks, nil, nil, nil).Walk(nil)
	w := New(d.View(), stacks, nil, nil, nil).Walk(nil)
	var frames []FrameText
	var functions []uint32
	numberOf := map[FunctionID]uint32{}
	for _, stack := range stacks {
		numbers, _ := w.Numbers(stack, func(f FrameText, function uint32) {
			of := FunctionID{f.Function, f.File}
			if n, known := numberOf[of]; known && n != function {
				t.Fatalf("%v has the numbers %d and %d", of, n, function)
			}
			numberOf[of] = function
			frames, functions = append(frames, f), append(functions, function)
		})
		at := 0
		for _, y := range decoded.Locations(stack) {
			for i := range y.Frames() {
				if f := frames[numbers[at]]; f != y.Frame(i) {
					t.Fatalf("frame %d of stack %d is %v, want %v", at, stack, f, y.Frame(i))
				}
				at++
			}
		}
		if at != len(numbers) {
			t.Fatalf("stack %d has %d frames, want %d", stack, len(numbers), at)
		}
	}
	seen := map[uint32]FunctionID{}
	for of, n := range numberOf {
		if other, known := seen[n]; known {
			t.Fatalf("%v and %v have the number %d", of, other, n)
		}
		seen[n] = of
	}
	if w.table == nil {
		t.Fatal("an answer with all stacks of a dictionary does not use its table")
	}
}

// TestTable_Late has a record that comes after the table. Its function has the number that it has in the table.
func TestTable_Late(t *testing.T) {
	d := dict.NewLists(1)
	known := recordOf(&pprof.Location{Address: 1, Line: []pprof.Line{{Function: &pprof.Function{Name: "f"}}}})
	late := recordOf(&pprof.Location{Address: 2, Line: []pprof.Line{{Function: &pprof.Function{Name: "f"}}}})
	stacks, err := d.InternLists(nil, [][]uuid.UUID{{{1}, {2}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.KeepRecord(uuid.UUID{2}, known); err != nil {
		t.Fatal(err)
	}
	tableOf(d)
	if err := d.KeepRecord(uuid.UUID{1}, late); err != nil {
		t.Fatal(err)
	}
	var functions []uint32
	w := New(d.View(), stacks, nil, nil, nil).Walk(nil)
	if w.Numbers(stacks[0], func(_ FrameText, function uint32) { functions = append(functions, function) }); !slices.Equal(functions, []uint32{0, 0}) {
		t.Errorf("the functions have the numbers %d", functions)
	}
}

// TestTable_Few has answers that decode their own locations: with few of a dictionary's stacks, and of several dictionaries.
func TestTable_Few(t *testing.T) {
	d, other := dict.NewLists(1), dict.NewLists(1)
	for i := range 9 {
		for _, of := range []*dict.Lists{d, other} {
			if _, err := of.InternLists(nil, [][]uuid.UUID{{{byte(i)}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	union := dict.NewUnion(d, other)
	for name, r := range map[string]*Resolver{
		"few":                  New(d.View(), []uint32{1, 2}, nil, nil, nil),
		"several dictionaries": New(union.View(), []uint32{union.Add(0, 1), union.Add(1, 2)}, nil, nil, nil),
		"none":                 New(dict.ListView{}, nil, nil, nil, nil),
	} {
		if r.useTable() != nil || d.Beside().Load() != nil {
			t.Errorf("%s: there is a table", name)
		}
	}
}

// TestTable_Most has no table of more than mostTable bytes, and makes it once.
func TestTable_Most(t *testing.T) {
	d := dict.NewLists(1)
	name := string(make([]byte, 1<<20))
	for i := range mostTable>>20 + 1 {
		record := recordOf(&pprof.Location{Address: uint64(i), Line: []pprof.Line{{Function: &pprof.Function{Name: fmt.Sprint(i, name)}}}})
		if _, err := d.InternElement(uuid.UUID{byte(i), 1}, record); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if tableOf(d) != nil {
			t.Fatal("there is a table")
		}
	}
	if known := d.Beside().Load().(*frameTable).known.Load(); len(known.ends) != 0 || known.bytes <= mostTable {
		t.Errorf("what is kept of it has %d locations", len(known.ends))
	}
}

// TestTable_Concurrent reads a table while it grows.
func TestTable_Concurrent(t *testing.T) {
	d := dict.NewLists(1)
	var readers sync.WaitGroup
	for i := range 200 {
		record := recordOf(&pprof.Location{Address: uint64(i), Line: []pprof.Line{{Line: int64(i), Function: &pprof.Function{Name: fmt.Sprint("f", i%7)}}}})
		if _, err := d.InternLists(nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := d.InternElement(uuid.UUID{byte(i), byte(i >> 8), 1}, record); err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			known := tableOf(d)
			for location := range d.Elements() {
				for _, f := range known.of(uint32(location + 1)) {
					if got := known.frame(f); got.Function != fmt.Sprint("f", location%7) || got.Line != int64(location) {
						t.Errorf("location %d is %v", location, got)
					}
				}
			}
		})
	}
	readers.Wait()
}
