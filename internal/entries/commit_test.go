package entries

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/damaged"
)

// example returns a commit of two tables without rows, and two histories, and what is read of it.
func example() (CommitEntry, CommitContents) {
	e := NewCommit([]TableWrites{{Ordinal: 3, Notes: []string{"a", ""}}, {Ordinal: 0}},
		[]StatesWrites{{Ordinal: 1, Journal: []byte{1, 2, 3}}, {Ordinal: 300, Journal: []byte{}}})
	e.Decide(0, catalog.Decisions{Floor: 7, Cut: catalog.NoCut})
	e.Decide(1, catalog.Decisions{Floor: -7, Cut: 9})
	return e, CommitContents{
		Tables: []TableContents{
			{Ordinal: 3, Notes: []string{"a", ""}, Parts: []PartImage{}, Decided: catalog.Decisions{Floor: 7, Cut: catalog.NoCut}},
			{Ordinal: 0, Notes: []string{}, Parts: []PartImage{}, Decided: catalog.Decisions{Floor: -7, Cut: 9}},
		},
		Histories: []StatesWrites{{Ordinal: 1, Journal: []byte{1, 2, 3}}, {Ordinal: 300, Journal: []byte{}}},
	}
}

func TestCommit(t *testing.T) {
	e, want := example()
	got, err := e.Read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if again := got.Entry(); !slices.Equal(again, e) {
		t.Errorf("what was read is the entry %x, it was %x", again, e)
	}
	w := TableWrites{Ordinal: 1}
	if n, err := NewCommit([]TableWrites{w}, nil).Read(); err != nil || len(n.Tables) != 1 || n.Histories != nil {
		t.Errorf("a commit of a table: %+v, %v", n, err)
	}
}

func TestDictsHead(t *testing.T) {
	body := append(DictsHead(1, -2, 3, 1), 4)
	table, generation, number, image, ok := CutDictsHead(body)
	if !ok || table != 1 || generation != -2 || number != 3 || !slices.Equal(image, []byte{4}) {
		t.Errorf("table %d, generation %d, number %d, image %x, %v", table, generation, number, image, ok)
	}
	if _, _, _, _, ok := CutDictsHead(body[:dictsHead-1]); ok {
		t.Error("a header of 23 bytes")
	}
}

// TestCommit_RandomChanges reads changed entries, and bytes that never were one.
func TestCommit_RandomChanges(t *testing.T) {
	e, _ := example()
	images := []damaged.Image{{
		Name: "commit", Bytes: e, Bad: ErrEntry,
		Open: func(image []byte) (any, error) { return CommitEntry(image).Read() },
		Use:  func(*testing.T, any) {},
	}}
	damaged.RandomChanges(t, images)
	r := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32() >> r.IntN(8))
		}
		if err := images[0].Try(t, b); err != nil && !errors.Is(err, ErrEntry) {
			t.Fatal(err)
		}
	}
}

// Tables and histories come in the order of their ordinals, or are those of the files.
func TestReadCreated(t *testing.T) {
	names := []string{"a", "b"}
	name := func(i int) string { return names[i] }
	for _, tc := range []struct {
		body        string
		known, fine bool
	}{
		{`{"Ordinal":1,"Name":"b","Ranges":1}`, true, true},
		{`{"Ordinal":2,"Name":"c","Ranges":1}`, false, true},
		{`{"Ordinal":1,"Name":"c","Ranges":1}`, false, false},
		{`{"Ordinal":3,"Name":"c","Ranges":1}`, false, false},
		{`{"Ordinal":-1,"Name":"a","Ranges":1}`, false, false},
		{`{"Ordinal":`, false, false},
	} {
		table, known, err := ReadTable([]byte(tc.body), 2, name)
		h, knownToo, errToo := ReadHistory([]byte(tc.body), 2, name)
		if known != tc.known || knownToo != tc.known || (err == nil) != tc.fine || (errToo == nil) != tc.fine || table.Name != h.Name {
			t.Errorf("%s: %v, %v; %v, %v", tc.body, known, err, knownToo, errToo)
		}
		if err != nil && !errors.Is(err, ErrEntry) || errToo != nil && !errors.Is(errToo, ErrEntry) {
			t.Errorf("%s: %v; %v", tc.body, err, errToo)
		}
	}
	if _, _, err := ReadTable([]byte(`{"Ordinal":2,"Name":"c"}`), 2, name); !errors.Is(err, ErrEntry) {
		t.Errorf("a table without ranges: %v", err)
	}
}
