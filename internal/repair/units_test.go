package repair_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/repair"
	"github.com/granarydb/granary/schema"
)

// insertAt inserts a row of each time, whose value is the time.
func insertAt(t *testing.T, store *columnstore.Store, times ...int64) {
	t.Helper()
	for _, at := range times {
		if _, err := store.Table("samples").Insert(t.Context(), schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
			"labels.pod": encoding.Strings(fmt.Sprint(at)), "stack": encoding.UUIDLists([]uuid.UUID{{byte(at)}}),
			"time": encoding.Int64s(at), "value": encoding.Int64s(at),
		}}); err != nil {
			t.Fatal(err)
		}
	}
}

func seal(t *testing.T, store *columnstore.Store, before int64, want ...uint64) {
	t.Helper()
	units, err := store.Table("samples").Seal(t.Context(), before)
	if err != nil || !slices.EqualFunc(units, want, func(u columnstore.Unit, id uint64) bool { return u.ID == id }) {
		t.Fatalf("sealed %v, %v", units, err)
	}
}

// unitsOf opens a directory for reading and returns each unit's values, sorted, and those of the rest as
// 0.
func unitsOf(t *testing.T, dir disk.FS) (map[uint64][]int64, error) {
	t.Helper()
	opts := options(dir)
	opts.ReadOnly = true
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	out := map[uint64][]int64{}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		table := store.Table("samples")
		units, _, err := table.Units(snap)
		for _, u := range units {
			out[u.ID] = nil
		}
		for id := range out {
			for rec, recErr := range table.Scan(t.Context(), snap, columnstore.ScanOptions{Columns: []string{"value"}, Buckets: []uint64{id}}) {
				if err = cmp.Or(err, recErr); recErr == nil {
					out[id] = append(out[id], rec.Column(0).(*array.Int64).Int64Values()...)
					rec.Release()
				}
			}
			slices.Sort(out[id])
		}
		return err
	})
	return out, err
}

// withUnits returns a directory with units in files and in the log, and what they have.
func withUnits(t *testing.T) (*crashfs.FS, map[uint64][]int64) {
	t.Helper()
	dir := crashfs.New(crashfs.Options{})
	opts := options(dir)
	opts.BucketRows, opts.LogBytes = 4, 1
	store, err := columnstore.Open(opts)
	if err == nil {
		_, err = store.CreateTable("samples", definition())
	}
	if err != nil {
		t.Fatal(err)
	}
	insertAt(t, store, 10, 20, 60, 110, 120, 130, 140) // and a cut at 141
	seal(t, store, 100, 1)
	insertAt(t, store, 15, 16, 160)
	seal(t, store, 150, 2, 3) // with late rows, and what was cut
	if _, err := store.Table("samples").Drop(t.Context(), []uint64{1}); err != nil {
		t.Fatal(err)
	}
	insertAt(t, store, 17, 115)
	if err := store.Maintain(t.Context()); err != nil || store.Stats().Files == 0 {
		t.Fatalf("%d files, %v", store.Stats().Files, err)
	}
	dir = dir.Crash()
	_ = store.Close()
	opts = options(dir)
	opts.BucketRows = 4
	if store, err = columnstore.Open(opts); err != nil {
		t.Fatal(err)
	}
	insertAt(t, store, 18, 116, 170)
	seal(t, store, 200, 4, 5, 6)
	insertAt(t, store, 19, 20, 117, 118, 180)
	next := dir.Crash()
	_ = store.Close()
	dir = shortened(t, next)
	units, err := unitsOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, units
}

// What is left of units after a damage are rows of them.
func TestRepair_Units(t *testing.T) {
	whole, units := withUnits(t)
	l, kinds := &left{files: filesOf(t, whole)}, map[string]int{}
	found, err := repair.Verify(t.Context(), whole, nil)
	if rows := len(slices.Concat(slices.Collect(maps.Values(units))...)); err != nil || !found.IsWhole() || found.Rows != int64(rows) || len(units) != 6 {
		t.Fatalf("%+v, %v; %v", found, err, units)
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		for _, at := range []int{20, len(l.files[name]) / 2, len(l.files[name]) - 5} {
			dir := l.directory(func(of string, data []byte) []byte {
				if of == name && len(data) > 30 {
					data[at] ^= 0x10
				}
				return data
			})
			report, err := repair.Repair(t.Context(), dir, nil)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
			if kind, _, _ := disk.ParseName(name); !report.IsWhole() {
				kinds[kind]++
			}
			again, err := repair.Verify(t.Context(), dir, nil)
			if err != nil || !again.IsWhole() {
				t.Fatalf("%s at %d: %+v, %v", name, at, again, err)
			}
			got, err := unitsOf(t, dir)
			if err != nil {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
			rows := int64(0)
			for id, values := range got {
				rows += int64(len(values))
				for _, v := range values {
					if id != 0 && !slices.Contains(units[id], v) {
						t.Errorf("%s at %d: unit %d has %v, and had %v", name, at, id, values, units[id])
					}
				}
			}
			if rows != again.Rows {
				t.Errorf("%s at %d: %d rows, and the report has %d", name, at, rows, again.Rows)
			}
		}
	}
	for _, kind := range []string{files.ManifestKind, files.RowsKind, files.DictsKind, disk.LogKind} {
		if kinds[kind] == 0 {
			t.Errorf("no repair of %s", kind)
		}
	}
}

// A part in a bucket that a cut began behind its rows is damage, as an opening finds it.
func TestVerify_RowsBeforeBucket(t *testing.T) {
	dir, _ := withUnits(t)
	id, _, err := disk.Identify(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, manifest, err := files.OpenDir(dir, id)
	if err != nil {
		t.Fatal(err)
	}
	log, err := disk.ReadLog(dir, id, manifest.Segment)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	moved := 0
	if err := disk.ReplaceLog(dir, id, func() (disk.Entry, error) {
		e, err := log.Next()
		e.Body = slices.Clone(e.Body)
		if err != nil || e.Kind != entries.EntryCommit || e.Commit <= manifest.Commit {
			return e, err
		}
		w, err := entries.CommitEntry(e.Body).Read()
		if err != nil {
			return e, err
		}
		for i, p := range w.Tables[0].Parts {
			if p.Bucket > 141 && moved == 0 { // the late row of 116
				w.Tables[0].Parts[i].Bucket = 141
				moved++
			}
		}
		e.Body = w.Entry()
		return e, nil
	}); err != nil || moved != 1 {
		t.Fatalf("%d parts moved, %v", moved, err)
	}
	report, err := repair.Verify(t.Context(), dir, nil)
	if err != nil || len(report.Damages) != 1 || !errors.Is(report.Damages[0].Err, granule.ErrImage) || !report.Damages[0].Log {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := unitsOf(t, dir); !errors.Is(err, granule.ErrImage) {
		t.Errorf("opened: %v", err)
	}
}
