package fanout

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func openShelf(t *testing.T, most int64) *shelf {
	t.Helper()
	h, err := newShelf(most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.db.Store().Close() })
	return h
}

// functionsOf puts the stacks with some codes on a shelf, and returns the functions of the answer.
func functionsOf(t *testing.T, h *shelf, codes []uint32) (functions []string) {
	t.Helper()
	at, err := h.put(context.Background(), []shelfRows{{map[string]string{sideLabel: "0"}, cpuType, codes, slices.Repeat([]int64{1}, len(codes))}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.drop(at)
	snap, err := h.db.Store().Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	s, err := h.db.Merge(context.Background(), snap, cpuType, profile.Query{From: at, To: at + 1})
	if err != nil {
		t.Fatal(err)
	}
	for frames := range s.All() {
		for _, f := range frames {
			functions = append(functions, f.Function)
		}
	}
	slices.Sort(functions)
	return slices.Compact(functions)
}

// A node that says that a location of another node has other names, or none, says it of its own stacks alone.
func TestShelf_Lies(t *testing.T) {
	for name, lie := range map[string]func(of, other *profile.StackLocations){
		"names": func(of, other *profile.StackLocations) { of.Records = other.Records },
		"none":  func(of, _ *profile.StackLocations) { of.Records = make([][]byte, len(of.Records)) },
	} {
		h := openShelf(t, 1<<30)
		ids, of := wantedOf(t, "f", "g", "h")
		_, other := wantedOf(t, "liar", "liar2", "liar3")
		lie(of, other)
		if err := h.add("bad", ids, of); err != nil {
			t.Fatal(err)
		}
		if codes := h.find(nil, "good", ids); slices.Max(codes) != 0 {
			t.Errorf("%s: the other node's stacks are %v before it sent them", name, codes)
		}
		_, of = wantedOf(t, "f", "g", "h")
		if err := h.add("good", ids, of); err != nil {
			t.Fatal(err)
		}
		if got := functionsOf(t, h, h.find(nil, "good", ids)); !slices.Equal(got, []string{"f", "g", "h"}) {
			t.Errorf("%s: functions %q", name, got)
		}
	}
}

// A shelf takes no more than it has room for, and says so before it takes anything.
func TestShelf_Full(t *testing.T) {
	h := openShelf(t, 1000)
	ids, of := wantedOf(t, "f", "g", "h")
	if err := h.add("a", ids, of); !errors.Is(err, errFull) || h.find(nil, "a", ids)[0] != 0 {
		t.Errorf("in 1,000 bytes: %v", err)
	}
	h = openShelf(t, 1<<20)
	if err := h.add("a", ids, of); err != nil {
		t.Fatal(err)
	}
	codes := h.find(nil, "a", ids)
	if _, err := h.put(context.Background(), []shelfRows{{nil, cpuType, slices.Repeat(codes, 10_000), make([]int64, 30_000)}}); !errors.Is(err, errFull) {
		t.Errorf("30,000 rows: %v", err)
	}
	if got := functionsOf(t, h, codes); !slices.Equal(got, []string{"f", "g", "h"}) {
		t.Errorf("functions %q", got)
	}
	if n := h.db.Store().Stats().Rows; n != 0 || h.reserved != 0 {
		t.Errorf("%d rows and %d bytes are left", n, h.reserved)
	}
}

// Two shelves live at most: a third question waits for room. A short one is left, and one that was empty becomes the present one.
func TestShelves(t *testing.T) {
	ctx, s := t.Context(), newShelves()
	take := func(isEmpty bool) *shelf {
		h, err := s.take(ctx, 1<<20, isEmpty)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	give := func(h *shelf, isShort bool) {
		if err := s.give(h, isShort); err != nil {
			t.Fatal(err)
		}
	}
	a, b := take(false), take(false)
	if a != b {
		t.Error("two questions have a shelf each")
	}
	give(a, true)
	c := take(true) // beside b, which is in use
	within, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := s.take(within, 1<<20, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third shelf: %v", err)
	}
	give(c, false)
	if d := take(false); d != c {
		t.Error("the shelf of the second try is not the present one")
	}
	give(b, false)
	if err := b.db.Store().Compact(ctx); !errors.Is(err, columnstore.ErrClosed) {
		t.Errorf("a left shelf is open: %v", err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.take(ctx, 1<<20, false); !errors.Is(err, columnstore.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	give(c, false)
	if err := c.db.Store().Compact(ctx); !errors.Is(err, columnstore.ErrClosed) {
		t.Errorf("the last shelf is open: %v", err)
	}
	if len(s.room) != 0 {
		t.Errorf("%d shelves live", len(s.room))
	}
}
