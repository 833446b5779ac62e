package history

import (
	"strconv"
	"testing"

	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/ihs"
)

// journalsOf returns the journals of a history of a set, with `batch` intervals a commit.
func journalsOf(tb testing.TB, s *ihs.Set, batch int) (journals [][]byte) {
	h, err := New(Options{Start: s.Header.Start, Journal: true})
	if err != nil {
		tb.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	commit := func() {
		w.Prepare()
		if j := w.Journal(); j != nil {
			journals = append(journals, j)
		}
		if _, err := w.Commit(); err != nil {
			tb.Fatal(err)
		}
		if w, err = h.Begin(); err != nil {
			tb.Fatal(err)
		}
	}
	for _, a := range s.Attributes {
		parent := Top
		if a.Parent >= 0 {
			parent = Attribute(a.Parent)
		}
		if _, err := w.Child(parent, a.Name); err != nil {
			tb.Fatal(err)
		}
	}
	commit()
	n := 0
	for i := range s.Keys {
		if n++; n > batch && s.Ends[i] != s.Ends[i-1] {
			commit()
			n = 0
		}
		if err := w.Add(Attribute(s.Keys[i]), s.Starts[i], s.Ends[i], valueOf(s, i)); err != nil {
			tb.Fatal(i, err)
		}
	}
	commit()
	w.Abort()
	return journals
}

// mixedJournals returns the journals of three transactions that have all that there can be.
func mixedJournals(t testing.TB) (journals [][]byte) {
	h, err := New(Options{Start: 100, Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	for round := range int64(3) {
		w, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		values := []Value{Int(round), Int(1 << 40), Bool(true), Float(1.1), String("run"), String("wait " + strconv.Itoa(int(round))), Bytes([]byte{0xff})}
		for i, v := range values {
			at := 200 + 100*round + int64(i)
			changed, err := w.Attribute("changed", strconv.Itoa(i), "a")
			must(err)
			must(w.Change(at, changed, v))
			must(w.Change(at+10, changed, Value{}))
			added, err := w.Attribute("added", strconv.Itoa(i), strconv.Itoa(int(round)))
			must(err)
			must(w.Add(added, 100, at+90, v))
		}
		stack, err := w.Attribute("stack")
		must(err)
		must(w.Push(250+100*round, stack, String("frame")))
		if round == 1 {
			w.DropBefore(250)
		}
		if round == 2 {
			must(w.Close(600))
		}
		w.Prepare()
		journals = append(journals, w.Journal())
		if _, err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	return journals
}

// TestJournal_RandomChanges repeats changed journals: an error of its own, or a history that can
// be used.
func TestJournal_RandomChanges(t *testing.T) {
	journals := mixedJournals(t)
	var images []damaged.Image
	for i := range journals {
		images = append(images, damaged.Image{
			Name: "journal " + strconv.Itoa(i), Bytes: journals[i], Bad: ErrJournal,
			Open: func(journal []byte) (any, error) {
				h, err := New(Options{Start: 100})
				if err != nil {
					return nil, err
				}
				before := h.Empty()
				for _, j := range journals[:i] {
					if before, err = h.Replay(j); err != nil {
						return nil, err
					}
				}
				v, err := h.Replay(journal)
				if err != nil { // nothing happened: the right one still fits
					if h.tree.Names().Len() != before.Len() {
						t.Errorf("%d attributes before the error, %d after it", before.Len(), h.tree.Names().Len())
					}
					if _, err := h.Replay(journals[i]); err != nil {
						t.Errorf("the journal after a damaged one: %v", err)
					}
				}
				return v, err
			},
			Use: func(t *testing.T, opened any) { useView(t, opened.(*View)) },
		})
	}
	damaged.RandomChanges(t, images)
}

// useView reads all of a view: the intervals of each attribute adjoin, and At agrees (H1).
func useView(t *testing.T, v *View) {
	if err := CheckLanes(v.history); err != nil {
		t.Fatal(err)
	}
	if !v.Instants() {
		return
	}
	s, err := v.Slice(v.End())
	if err != nil {
		t.Fatal(err)
	}
	for a := range Attribute(v.Len()) {
		if _, err := v.Path(a); err != nil {
			t.Fatal(err)
		}
		next, last := v.Start(), Interval{}
		for in, err := range v.Range(a, v.Start(), v.End(), RangeOptions{}) {
			if err != nil || in.Start != next || in.End < in.Start {
				t.Fatalf("attribute %d: %+v, %v, want it from %d on", a, in, err, next)
			}
			if at, err := v.At(a, in.Start); err != nil || at != in {
				t.Fatalf("attribute %d at %d: %+v, %v, want %+v", a, in.Start, at, err, in)
			}
			next, last = in.End+1, in
		}
		if in, err := s.Of(a); err != nil || last.End != v.End() || in != last {
			t.Fatalf("attribute %d ends with %+v, %v, in a slice %+v", a, last, err, in)
		}
	}
}
