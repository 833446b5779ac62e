package history_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// dropped returns the bytes of tiles that a history drops for a request of that many, and its
// view afterwards: 64 attributes that change at every instant, 64 thousand times.
func dropped(t *testing.T, bytes int64) (freed int64, view *history.View) {
	t.Helper()
	h, tx := begun(t)
	var err error
	var all [64]history.Attribute
	for i := range all {
		if all[i], err = tx.Attribute(string(rune('A' + i))); err != nil {
			t.Fatal(err)
		}
	}
	for at := range int64(16_000) {
		for i, a := range all {
			if err := tx.Change(at, a, history.Int(at*7919%251+int64(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	before := h.Size()
	if tx, err = h.Begin(); err != nil {
		t.Fatal(err)
	}
	tx.DropBytes(bytes, math.MaxInt64)
	if view, err = tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return before - h.Size(), view
}

func TestDropBytes(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine writes and drops")
	}
	for _, bytes := range []int64{512 << 10, 1 << 20} {
		if freed, view := dropped(t, bytes); freed < bytes/2 || freed > 2*bytes || view.Start() <= 0 {
			t.Errorf("asked for %d bytes: %d are free, the history starts at %d", bytes, freed, view.Start())
		}
	}
	for _, bytes := range []int64{0, -1, math.MinInt64} {
		if freed, view := dropped(t, bytes); freed != 0 || view.Start() != 0 {
			t.Errorf("asked for %d bytes: %d are free, the history starts at %d", bytes, freed, view.Start())
		}
	}
	if freed, view := dropped(t, math.MaxInt64); freed < 1<<20 || view.Start() >= view.End() {
		t.Errorf("asked for everything: %d bytes are free, the history is from %d to %d", freed, view.Start(), view.End())
	}
}

// TestDropBytes_Texts asks for half of the bytes of a history with texts that do not come again,
// short ones in tiles, and long ones that are too few for a tile.
func TestDropBytes_Texts(t *testing.T) {
	for _, test := range []struct{ length, n int }{{64, 20_000}, {60_000, 60}} {
		h, tx := begun(t)
		var views []*history.View
		text := func(i int) string { return strconv.Itoa(i) + strings.Repeat("x", test.length) }
		for i := range test.n {
			a, err := tx.Attribute("a", strconv.Itoa(i%3))
			if err == nil {
				err = tx.Change(int64(i), a, history.String(text(i)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if i%(test.n/10) == 0 {
				v, err := tx.Commit()
				if err != nil {
					t.Fatal(err)
				}
				views = append(views, v)
				if tx, err = h.Begin(); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := h.Size()
		tx.DropBytes(before/2, math.MaxInt64)
		last, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		freed := before - h.Size()
		t.Logf("%d texts of %d bytes: of %d bytes %d are free, the history starts at %d", test.n, test.length, before, freed, last.Start())
		if freed < before/3 || freed > before*2/3 {
			t.Errorf("%d texts of %d bytes: of %d bytes %d are free", test.n, test.length, before, freed)
		}
		for _, v := range append(views, last) {
			for i := int(v.Start()) + 3; i <= int(v.End()); i++ {
				a, err := v.Lookup("a", strconv.Itoa(i%3))
				if err != nil {
					t.Fatal(err)
				}
				if in, err := v.At(a, int64(i)); err != nil || in.Value.Text() != text(i) {
					t.Fatalf("the view to %d: at %d %.20q, %v", v.End(), i, in.Value.Text(), err)
				}
			}
		}
	}
}

// TestDropBytes_Ends drops until nothing is left to drop. Texts are dropped in the transaction that fills a lane of
// numbers, whose tile is then older than the history's start: DropBytes must drop it too, and not promise it for ever.
func TestDropBytes_Ends(t *testing.T) {
	h, tx := begun(t)
	number, err := tx.Attribute("number")
	if err != nil {
		t.Fatal(err)
	}
	text, err := tx.Attribute("text")
	if err != nil {
		t.Fatal(err)
	}
	for at := range int64(2000) {
		a, v := number, history.Int(at)
		if at >= 1000 {
			a, v = text, history.String(strconv.FormatInt(at, 10))
		}
		if err := tx.Change(at, a, v); err != nil {
			t.Fatal(err)
		}
	}
	// The numbers are 999 entries that are no tile yet, so only texts can be dropped.
	drops := 0
	for ; tx.DropBytes(1, math.MaxInt64); drops++ {
		if drops > 2000 {
			t.Fatal("DropBytes always has something to drop")
		}
		if _, err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if tx, err = h.BeginDrop(); err != nil {
			t.Fatal(err)
		}
	}
	tx.Abort()
	if bytes, oldest := h.Droppable(); drops < 3 || bytes > 0 {
		t.Errorf("after %d drops, %d bytes can be dropped, from %d on", drops, bytes, oldest)
	}
}
