package columnstore

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
)

// formatUpdate writes a directory for TestFormat: that of a release, which is never written again.
var formatUpdate = flag.String("format.update", "", "TestFormat: write a directory of the present format with this name to testdata/format, which must not have it")

// TestFormat opens directories that earlier versions wrote, and wants all that they had. Each is opened
// for reading, for writing, and once more.
func TestFormat(t *testing.T) {
	root := filepath.Join("testdata", "format")
	if *formatUpdate != "" {
		writeFormat(t, filepath.Join(root, *formatUpdate))
	}
	releases, err := os.ReadDir(root)
	if err != nil || len(releases) == 0 {
		t.Fatalf("%d directories, %v", len(releases), err)
	}
	for _, release := range releases {
		t.Run(release.Name(), func(t *testing.T) {
			from, dir := filepath.Join(root, release.Name(), "db"), t.TempDir()
			want, err := os.ReadFile(filepath.Join(root, release.Name(), "contents"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			opts := Options{Dir: dir, PastLimit: -1, FutureLimit: -1}
			for _, readOnly := range []bool{true, false, false} {
				opts.ReadOnly = readOnly
				store, _ := reopen(t, opts)
				if diff := cmp.Diff(string(want), contentsText(t, store)); diff != "" {
					t.Errorf("for reading only: %v: -want +got\n%s", readOnly, diff)
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// writeFormat writes a directory with files of all kinds and a log, and its contents as text.
func writeFormat(t *testing.T, root string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err) // it is there: a release is never written again
	}
	opts := Options{
		Dir: t.TempDir(), Manual: true, PastLimit: -1, FutureLimit: -1, GranuleRows: 40, BucketRows: 100, GenerationBuckets: 1,
		LogBytes: 1,
	}
	store, table := open(t, opts, wide(2000, wideKey))
	plain, err := store.CreateTable("without buckets", wide(0, wideKey))
	if err != nil {
		t.Fatal(err)
	}
	ongoing, ended := createHistory(t, store, HistoryOptions{Start: 5, MaxAttributes: 50}), (*History)(nil)
	if ended, err = store.CreateHistory("ended", HistoryOptions{}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 8 {
		codes, err := table.Codes(int64(i%3) * 2000)
		id, location := formatLocation(i)
		if err == nil { // records of elements that rows have already, and of new elements
			_, err = codes.Elements(nil, []uuid.UUID{{byte(i)}, {1}, id, {9, 9}}, [][]byte{fmt.Append(nil, "record ", i), []byte("record of 1"), location, location})
		}
		if err != nil {
			t.Fatal(err)
		}
		tx := store.Begin()
		for _, into := range []*Table{table, plain} {
			rows := randomRows(rng, 30)
			rows[0]["stack"] = []uuid.UUID{id, {9, 9}}
			if err := tx.Insert(t.Context(), into, batchOf(rng, rows)); err != nil {
				t.Fatal(err)
			}
		}
		tx.Note(table, fmt.Sprint("note ", i/2))
		w := writerOf(t, tx, ongoing)
		for k, v := range []history.Value{history.Int(int64(i)), history.Float(float64(i) / 3), history.String(fmt.Sprint("state ", i%2)), {}} {
			change(t, w, int64(10*i+k+5), fmt.Sprint("attribute ", k), v)
		}
		if i == 5 {
			w := writerOf(t, tx, ended)
			change(t, w, 3, "a", history.Int(1))
			if err := w.Close(9); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, tx)
		if i == 3 || i == 6 { // units in files, and units in the log
			seal(t, table, 4000)
		}
		if i == 5 {
			if _, err := table.Drop(t.Context(), []uint64{2}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 4 {
			if err := store.Maintain(t.Context()); err != nil || store.Stats().FlushError != nil {
				t.Fatal(err, store.Stats().FlushError)
			}
		}
	}
	if err := store.Backup(t.Context(), disk.System(filepath.Join(root, "db"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "contents"), []byte(contentsText(t, store)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// formatLocation returns a location's id and its record.
func formatLocation(i int) (uuid.UUID, []byte) {
	identity := fmt.Appendf(nil, "\x02\x0aa build id\x00\x07\x01\x01\x0eformat.writer%d\x0eformat.writer%d\x09format.go\x00%c\x00", i, i, 2*i)
	return dict.RecordID(identity), append(identity, "\x0c/usr/bin/app\x00\x00\x00\x0f"...)
}

// contentsText returns all rows, notes and states of a store.
func contentsText(t *testing.T, store *Store) string {
	t.Helper()
	var out strings.Builder
	snap := snapshot(t, store)
	defer snap.Close()
	for _, table := range store.Tables() {
		fmt.Fprintf(&out, "table %s\n", table.Name())
		rows := allRows(t, table, snap, ScanOptions{})
		slices.Sort(rows)
		rows = append(rows, stacksWithRecords(t, table, snap)...)
		for _, row := range rows {
			fmt.Fprintf(&out, "\t%s\n", row)
		}
		notes, err := table.Notes(snap)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\tnotes %q\n", notes)
		units, _, err := table.Units(snap)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units { // earlier versions have none
			if u.ID != 0 {
				fmt.Fprintf(&out, "\tunit %d: %d rows from %d to %d\n", u.ID, u.Rows, u.First, u.Last)
			}
		}
	}
	for _, h := range store.Histories() {
		view, err := snap.History(h)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "history %s from %d to %d, closed %v\n", h.Name(), view.Start(), view.End(), view.Closed())
		for a := range view.Descendants(history.Top) {
			name, _ := view.Path(a)
			fmt.Fprintf(&out, "\t%q", name)
			for in, err := range view.Range(a, view.Start(), view.End(), history.RangeOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, " %d..%d %v", in.Start, in.End, in.Value)
			}
			fmt.Fprintln(&out)
		}
	}
	return out.String()
}

// stacksWithRecords returns the distinct stacks with the records of their elements, sorted.
func stacksWithRecords(t *testing.T, table *Table, snap *Snapshot) []string {
	t.Helper()
	known := map[string]bool{}
	opts := ScanOptions{Columns: []string{"stack"}, Elements: func(dst []string, id uuid.UUID, record []byte) []string {
		return append(dst, fmt.Sprintf("%x %s", id[:2], record))
	}}
	for rec, err := range table.Scan(t.Context(), snap, opts) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			known[rec.Column(0).ValueStr(i)] = true
		}
		rec.Release()
	}
	return slices.Sorted(maps.Keys(known))
}

// A file of each kind with a later version in its header is ErrFormat that names the file and both
// versions, and the directory stays as it is.
func TestFormat_Newer(t *testing.T) {
	dir := crashed(t, 1)
	before := contents(t, dir)
	kinds := map[string]bool{}
	for name := range before {
		kind, _, _ := disk.ParseName(name)
		if kinds[kind] || len(before[name]) < 64 || string(before[name][:4]) != "gran" {
			continue
		}
		kinds[kind] = true
		newest := files.VersionOf(kind)
		for other, data := range before {
			data = slices.Clone(data)
			// The newest manifest and the newest segment count, and all of these files are newer.
			if otherKind, _, _ := disk.ParseName(other); otherKind == kind && len(data) >= 64 && string(data[:4]) == "gran" {
				data[4]++
				binary.LittleEndian.PutUint32(data[60:], crc32.Checksum(data[:60], crc32.MakeTable(crc32.Castagnoli)))
			}
			dir.Put(other, data)
		}
		newer := contents(t, dir)
		for _, readOnly := range []bool{true, false} {
			opts := inSmallDir(dir)
			opts.ReadOnly = readOnly
			_, err := Open(opts)
			if !errors.Is(err, disk.ErrFormat) || !strings.Contains(fmt.Sprint(err), kind+"-") || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("format is newer than this program: %d, not %d", newest+1, newest)) {
				t.Errorf("%s: %v, want %v", kind, err, disk.ErrFormat)
			}
		}
		if diff := cmp.Diff(newer, contents(t, dir)); diff != "" {
			t.Errorf("%s: the files have changed", kind)
		}
	}
	if len(kinds) < 5 {
		t.Errorf("kinds %v, want 5", kinds)
	}
}
