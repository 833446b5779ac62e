package profile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/effort"
	codec "github.com/granarydb/granary/profile/pprof"
)

// A Deltas that is opened again and again, after Close or after its process was killed, counts every profile as one in
// memory does.
func TestOpenDeltas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deltas")
	rapid.Check(t, func(t *rapid.T) {
		_ = os.Remove(path) // of the run before
		opts := DeltaOptions{Types: []string{"n", "m"}}
		open := func() *Deltas {
			d, err := OpenDeltas(path, opts)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		db := openDB(t, Options{})
		defer db.store.Close()
		inMemory, filed := NewDeltas(opts), open()
		values := map[string]map[string][2]int64{"a": {}, "b": {}}
		for at := range rapid.IntRange(1, 30).Draw(t, "profiles") {
			switch rapid.IntRange(0, 3).Draw(t, "restart") {
			case 0:
				if err := filed.Close(); err != nil {
					t.Fatal(err)
				}
				filed = open()
			case 1:
				filed = open() // the one before was killed
			}
			pod := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pod")
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				name := fmt.Sprint("f", rapid.IntRange(0, 5).Draw(t, "stack"))
				was := values[pod][name]
				values[pod][name] = [2]int64{max(0, was[0]+rapid.Int64Range(-1, 5).Draw(t, "n")), was[1] + rapid.Int64Range(0, 1<<40).Draw(t, "m")}
			}
			var stacks []stack
			for name, v := range values[pod] {
				stacks = append(stacks, stack{frames: name, values: []int64{v[0], v[1]}})
			}
			p := makeTotals(start+int64(at), "n:count m:bytes", stacks...)
			drop := rapid.IntRange(0, 4).Draw(t, "dropped") == 0
			var counted [2]Counting
			var rows [2]int
			for i, d := range []*Deltas{inMemory, filed} {
				var since Subtraction
				tx := db.store.Begin()
				var err error
				if rows[i], err = db.InsertTx(ctx, tx, p, InsertOptions{Labels: map[string]string{"pod": pod}, Deltas: d, Subtracted: &since}); err != nil {
					t.Fatal(err)
				}
				if tx.Abort(); drop {
					since.Drop()
				}
				counted[i] = since.Counted
			}
			if counted[0] != counted[1] || rows[0] != rows[1] {
				t.Fatalf("profile %d: %s with %d rows in memory, %s with %d rows from a file", at, counted[0], rows[0], counted[1], rows[1])
			}
		}
		if err := filed.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// deltasIn inserts a profile with n stacks of the same value, which Deltas in a file count, and returns how.
func deltasIn(t testing.TB, path string, at, value int64, n int) Counting {
	t.Helper()
	deltas, err := OpenDeltas(path, DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stacks := make([]stack, n)
	for i := range stacks {
		stacks[i] = stack{frames: fmt.Sprint("f", i), values: []int64{value}}
	}
	var since Subtraction
	db := testDB(t, Options{})
	if _, err := db.Insert(ctx, makeTotals(start+at, "alloc_space:bytes", stacks...), InsertOptions{Deltas: deltas, Subtracted: &since}); err != nil {
		t.Fatal(err)
	}
	if err := deltas.Close(); err != nil {
		t.Fatal(err)
	}
	return since.Counted
}

// A file that was cut, or has other bytes, makes sources begin anew, and is no error. So does one that was not closed before the
// machine went down.
func TestOpenDeltas_Damaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deltas")
	deltasIn(t, path, 1, 5, 3)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := deltasIn(t, path, 2, 6, 3); got != codec.CountedGrowth {
		t.Fatalf("after Close: %s", got)
	}
	const frame = 9 // of the record of the end
	for name, data := range map[string][]byte{
		"empty": nil, "header": whole[:10], "of another boot": bytes.Replace(whole[:len(whole)-frame], []byte("1\n"), []byte("1\nx"), 1),
		"no header": bytes.Repeat([]byte("x"), 100), "cut": whole[:len(whole)-frame-3], "changed": append(append([]byte{}, whole[:len(whole)-frame-3]...), "abcdefghijkl"...),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := deltasIn(t, path, 2, 6, 3); got != codec.CountedFirst {
			t.Errorf("%s: %s", name, got)
		}
	}
	if err := os.WriteFile(path, whole[:len(whole)-frame], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := deltasIn(t, path, 2, 6, 3); got != codec.CountedGrowth && runtime.GOOS == "linux" {
		t.Errorf("of a process that was killed: %s", got)
	}
}

// Profiles are counted although the file cannot be written, and Close says so.
func TestOpenDeltas_Unwritable(t *testing.T) {
	deltas, err := OpenDeltas(filepath.Join(t.TempDir(), "gone", "deltas"), DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	db, since := testDB(t, Options{}), Subtraction{}
	for at := range int64(3) {
		if _, err := db.Insert(ctx, cumulative(at, []int64{at}, []int64{0}), InsertOptions{Deltas: deltas, Subtracted: &since}); err != nil {
			t.Fatal(err)
		}
	}
	if err := deltas.Close(); since.Counted != codec.CountedGrowth || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s, %v", since.Counted, err)
	}
}

// The file stays a few times as large as what it says.
func TestOpenDeltas_Size(t *testing.T) {
	effort.Slow(t)
	path := filepath.Join(t.TempDir(), "deltas")
	for at := range int64(20) {
		deltasIn(t, path, at, at, 100)
	}
	deltas, err := OpenDeltas(path, DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	db, most := testDB(t, Options{}), int64(0)
	stacks := make([]stack, 5000)
	for at := range int64(60) {
		for i := range stacks {
			stacks[i] = stack{frames: fmt.Sprint("f", i), values: []int64{1000 + at}}
		}
		if _, err := db.Insert(ctx, makeTotals(start+100+at, "alloc_space:bytes", stacks...), InsertOptions{Deltas: deltas}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	if err := deltas.Close(); err != nil {
		t.Fatal(err)
	}
	if most > 1<<20+100_000 || most < 900_000 {
		t.Errorf("the file had %d bytes", most)
	}
}

// FuzzOpenDeltas opens any file.
func FuzzOpenDeltas(f *testing.F) {
	path := filepath.Join(f.TempDir(), "deltas")
	deltasIn(f, path, 1, 5, 3)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "deltas")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := OpenDeltas(path, DeltaOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sources := d.Stats().Sources
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if d, err = OpenDeltas(path, DeltaOptions{}); err != nil || d.Stats().Sources != sources {
			t.Fatalf("%d sources, %v; before there were %d", d.Stats().Sources, err, sources)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
