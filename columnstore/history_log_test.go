package columnstore

import (
	"errors"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
)

// openLogged opens a store with a log on a disk in memory.
func openLogged(t *testing.T, fs disk.FS) *Store {
	t.Helper()
	s, err := Open(Options{Manual: true, FS: fs, Sync: disk.SyncEach})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestLog_Histories closes a store with two histories, one of them closed for good, and opens it twice,
// with writes in between. Their options, names and states are unchanged.
func TestLog_Histories(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	s := openLogged(t, fs)
	open, err := s.CreateHistory("open", HistoryOptions{Start: 100, MaxAttributes: 3})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := s.CreateHistory("closed", HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateHistory("open", HistoryOptions{}); !errors.Is(err, ErrTable) {
		t.Fatalf("a second history of a name: %v", err)
	}
	write := func(s *Store, h *History, do func(w *history.Writer) error) {
		t.Helper()
		tx := s.Begin()
		w, err := tx.History(h)
		if err == nil {
			err = do(w)
		}
		if err == nil {
			_, err = tx.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(at int64, name string, v history.Value) func(w *history.Writer) error {
		return func(w *history.Writer) error {
			a, err := w.Attribute(name)
			if err != nil {
				return err
			}
			return w.Change(at, a, v)
		}
	}
	write(s, open, change(110, "a", history.String("first")))
	write(s, closed, change(7, "a", history.Float(0.5)))
	write(s, closed, func(w *history.Writer) error { return w.Close(9) })
	for round := range int64(3) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openLogged(t, fs)
		open, closed = s.History("open"), s.History("closed")
		if open == nil || closed == nil {
			t.Fatalf("round %d: a history is lost", round)
		}
		if _, err := s.Begin().History(closed); !errors.Is(err, history.ErrClosed) {
			t.Fatalf("round %d: a writer of the closed history: %v", round, err)
		}
		write(s, open, change(120+20*round, "b", history.Int(round)))
		write(s, open, change(130+20*round, "a", history.String("first"))) // no change, an instant
		snap, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		v, err := snap.History(open)
		if err != nil || v.Start() != 100 || v.End() != 130+20*round || v.Len() != 2 {
			t.Fatalf("round %d: %v to %v, %d attributes, %v", round, v.Start(), v.End(), v.Len(), err)
		}
		var got []history.Interval
		for in := range v.Range(1, 100, v.End(), history.RangeOptions{}) {
			got = append(got, in)
		}
		want := []history.Interval{{Start: 100, End: 119}}
		for r := range round {
			want = append(want, history.Interval{Start: 120 + 20*r, End: 139 + 20*r, Value: history.Int(r)})
		}
		if want = append(want, history.Interval{Start: 120 + 20*round, End: v.End(), Value: history.Int(round), Open: true}); !slices.Equal(got, want) {
			t.Errorf("round %d: %+v, want %+v", round, got, want)
		}
		if in, err := v.At(0, 115); err != nil || in.Value.Text() != "first" || in.Start != 110 {
			t.Errorf("round %d: %+v, %v", round, in, err)
		}
		c, err := snap.History(closed)
		if err != nil || !c.Closed() || c.End() != 9 {
			t.Errorf("round %d: the closed history ends at %d, %v", round, c.End(), err)
		}
		snap.Close()
		if bytes := s.memory.histories.Load(); bytes != open.states.Size()+closed.states.Size() {
			t.Errorf("round %d: histories take %d bytes by the account, and %d", round, bytes, open.states.Size()+closed.states.Size())
		}
	}
	tx := s.Begin()
	defer tx.Abort()
	w, err := tx.History(open)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Attribute("x", "y"); !errors.Is(err, history.ErrLimit) {
		t.Errorf("a fourth attribute of three: %v", err)
	}
}

// TestLog_HistoryEntries repeats entries that no store writes.
func TestLog_HistoryEntries(t *testing.T) {
	s, err := Open(Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := entries.NewWalk(nil, &recovery{store: s})
	if err := r.Visit(disk.Entry{Kind: entries.EntryHistory, Body: []byte(`{"Name":"h"}`)}); err != nil {
		t.Fatal(err)
	}
	commit := func(fields ...byte) []byte { return append(make([]byte, 8), fields...) }
	for name, e := range map[string]disk.Entry{
		"no JSON":           {Kind: entries.EntryHistory, Body: []byte("{")},
		"a name twice":      {Kind: entries.EntryHistory, Body: []byte(`{"Ordinal":1,"Name":"h"}`)},
		"an ordinal below":  {Kind: entries.EntryHistory, Body: []byte(`{"Ordinal":-1,"Name":"h"}`)},
		"a table below":     {Kind: entries.EntryTable, Body: []byte(`{"Ordinal":-1,"Name":"t","Ranges":1}`)},
		"a wrong ordinal":   {Kind: entries.EntryHistory, Body: []byte(`{"Ordinal":2,"Name":"i"}`)},
		"a negative number": {Kind: entries.EntryHistory, Body: []byte(`{"Ordinal":1,"Name":"i","MaxAttributes":-1}`)},
		"unknown history":   {Kind: entries.EntryCommit, Commit: 1, Body: commit(1, 1, 0)},
		"no length":         {Kind: entries.EntryCommit, Commit: 1, Body: commit(0)},
		"cut journal":       {Kind: entries.EntryCommit, Commit: 1, Body: commit(0, 9, 0)},
	} {
		if err := r.Visit(e); !errors.Is(err, entries.ErrEntry) {
			t.Errorf("%s: %v, want %v", name, err, entries.ErrEntry)
		}
	}
	if err := r.Visit(disk.Entry{Kind: entries.EntryCommit, Commit: 1, Body: commit(0, 2, 0, 9)}); !errors.Is(err, history.ErrJournal) {
		t.Errorf("a journal of nothing: %v, want %v", err, history.ErrJournal)
	}
}
