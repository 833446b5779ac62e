package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/repair"
	"github.com/granarydb/granary/schema"
)

func TestMain(m *testing.M) {
	effort.CollectRarely()
	goleak.VerifyTestMain(m)
}

const width, ranges = 100, 2 // of a bucket, and buckets of a generation

func definition() schema.Definition {
	return schema.Definition{
		Columns: []schema.Column{
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"labels", "stack", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: width},
	}
}

// row is a row of the table, by its value.
type row struct {
	at     int64
	commit uint64
}

// left is a directory that a machine left when it crashed.
type left struct {
	files    map[string][]byte
	rows     map[int64]row
	manifest *files.Manifest
}

func options(dir disk.FS) columnstore.Options {
	return columnstore.Options{
		FS: dir, Manual: true, PastLimit: -1, FutureLimit: -1, GranuleRows: 20, BucketRows: 120,
		GenerationBuckets: ranges, Sync: disk.SyncEach,
	}
}

// run has a store die three times: with a log alone, with files and a log, and with a log of two
// segments behind the files.
func run(t *testing.T) *left {
	t.Helper()
	dir, l := crashfs.New(crashfs.Options{}), &left{rows: map[int64]row{}}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		opts := options(dir)
		opts.LogBytes = []int64{1 << 30, 1, 1 << 30}[round]
		store, err := columnstore.Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if _, err := store.CreateTable("samples", definition()); err != nil {
				t.Fatal(err)
			}
			if _, err := store.CreateHistory("states", columnstore.HistoryOptions{MaxAttributes: 100}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 40 {
			l.commit(t, store, rng, round*20+i)
			if round == 1 && i == 20 {
				if err := store.Maintain(t.Context()); err != nil || store.Stats().Files == 0 {
					t.Fatalf("%d files, %v", store.Stats().Files, err)
				}
				opts.LogBytes = 1 << 30
			}
		}
		next := dir.Crash()
		_ = store.Close()
		dir = shortened(t, next)
	}
	l.files = filesOf(t, dir)
	id, _, err := disk.Identify(dir)
	if err == nil {
		_, l.manifest, err = files.OpenDir(dir, id)
	}
	if err != nil || l.manifest == nil || len(l.manifest.Tables[0].Buckets) < 4 || len(l.manifest.Tables[0].Generations) < 2 {
		t.Fatalf("manifest %+v, %v", l.manifest, err)
	}
	return l
}

// shortened returns a directory whose log has no room behind its end.
func shortened(t *testing.T, of *crashfs.FS) *crashfs.FS {
	t.Helper()
	dir := crashfs.New(crashfs.Options{})
	for name, data := range filesOf(t, of) {
		if strings.HasPrefix(name, disk.LogKind) {
			data = bytes.TrimRight(data, "\x00") // 64 MiB are reserved
			data = append(data, make([]byte, -len(data)&7)...)
		}
		dir.Put(name, data)
	}
	return dir
}

// commit adds rows in two buckets, and a state.
func (l *left) commit(t *testing.T, store *columnstore.Store, rng *rand.Rand, i int) {
	t.Helper()
	at := int64(i) * 8
	values, times := make([]int64, 6), make([]int64, 6)
	for k := range values {
		values[k] = int64(len(l.rows) + k)
		times[k] = max(0, at-int64(rng.IntN(60)))
	}
	tx := store.Begin()
	err := tx.Insert(t.Context(), store.Table("samples"), schema.Batch{Rows: 6, Columns: map[string]encoding.Vector{
		"labels.pod": encoding.Strings(fmt.Sprint("pod ", i)),
		"stack":      encoding.UUIDLists([]uuid.UUID{{byte(i)}, {1}}),
		"time":       encoding.Int64s(times...), "value": encoding.Int64s(values...),
	}})
	if err == nil {
		w, historyErr := tx.History(store.History("states"))
		if err = historyErr; err == nil {
			a, attributeErr := w.Attribute(fmt.Sprint("thread", i%7))
			err = errors.Join(attributeErr, w.Change(int64(len(l.rows)), a, history.Int(int64(i))))
		}
	}
	id, commitErr := tx.Commit()
	if err = errors.Join(err, commitErr); err != nil {
		t.Fatal(err)
	}
	for k := range values {
		l.rows[values[k]] = row{times[k], uint64(id)}
	}
}

func filesOf(t *testing.T, dir *crashfs.FS) map[string][]byte {
	t.Helper()
	names, err := dir.List()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		out[name] = dir.Get(name)
	}
	return out
}

// directory returns the files, some of them changed.
func (l *left) directory(change func(name string, data []byte) []byte) *crashfs.FS {
	dir := crashfs.New(crashfs.Options{Seed: 1, Keep: 0.5})
	for name, data := range l.files {
		if data := change(name, slices.Clone(data)); data != nil {
			dir.Put(name, data)
		}
	}
	return dir
}

// valuesOf opens a directory for reading and returns the values of its rows.
func valuesOf(t *testing.T, dir disk.FS) (map[int64]bool, error) {
	t.Helper()
	opts := options(dir)
	opts.ReadOnly = true
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	out := map[int64]bool{}
	err = store.View(t.Context(), func(snap *columnstore.Snapshot) error {
		for rec, err := range store.Table("samples").Scan(t.Context(), snap, columnstore.ScanOptions{Columns: []string{"value"}}) {
			if err != nil {
				return err
			}
			for _, v := range rec.Column(0).(*array.Int64).Int64Values() {
				if out[v] {
					t.Errorf("row %d is there twice", v)
				}
				out[v] = true
			}
			rec.Release()
		}
		return nil
	})
	return out, err
}

// expected returns the rows that are left after some damage.
func (l *left) expected(t *testing.T, damages []repair.Damage) map[int64]bool {
	t.Helper()
	out := map[int64]bool{}
	for v := range l.rows {
		out[v] = true
	}
	for _, d := range damages {
		kind, number, _ := disk.ParseName(d.File)
		if d.Before > 0 && d.Before <= d.After {
			t.Errorf("commit %d is lost, and %d is not", d.Before, d.After)
		}
		maps.DeleteFunc(out, func(v int64, _ bool) bool {
			r := l.rows[v]
			switch {
			case d.Log:
				return r.commit > d.After
			case kind == files.RowsKind:
				return r.commit <= l.manifest.Commit && d.From <= r.at && r.at <= d.To && l.fileOf(r) == number
			case kind == files.DictsKind:
				g := l.generationOf(r)
				return slices.Contains(g.Files, number) && strings.Contains(fmt.Sprint(d.Err), fmt.Sprintf("generation %d: ", g.Number))
			}
			return false
		})
	}
	return out
}

// fileOf returns the file of rows that has a row.
func (l *left) fileOf(r row) (number uint64) {
	for _, b := range l.manifest.Tables[0].Buckets {
		if b.Start <= r.at {
			number = b.File
		}
	}
	return number
}

func (l *left) generationOf(r row) files.GenerationFiles {
	return l.manifest.Tables[0].Generation(r.at / (width * ranges))
}

// check repairs a directory, and compares it with what must be left. It reports whether there was
// anything to repair.
func (l *left) check(t *testing.T, name string, dir *crashfs.FS) (repaired bool) {
	t.Helper()
	before := filesOf(t, dir)
	writes := &crashfs.Fault{Err: syscall.EROFS, Forever: true, Ops: []crashfs.Op{crashfs.Create, crashfs.Remove, crashfs.SyncDir, crashfs.WriteAt, crashfs.Sync, crashfs.Reserve}}
	dir.Fail(writes)
	found, err := repair.Verify(t.Context(), dir, nil)
	if err != nil || writes.Fired > 0 {
		t.Fatalf("%s: verify: %v, %d writes", name, err, writes.Fired)
	}
	got, openErr := valuesOf(t, dir)
	dir.Heal()
	if found.IsWhole() {
		if openErr != nil || int64(len(got)) != found.Rows {
			t.Fatalf("%s: whole, with %d rows: %d open, %v", name, found.Rows, len(got), openErr)
		}
		return false
	}
	want := l.expected(t, found.Damages)
	if found.Torn > 0 { // damage of the last entry looks like one that a crash has torn
		newest := uint64(0)
		for _, r := range l.rows {
			newest = max(newest, r.commit)
		}
		maps.DeleteFunc(want, func(v int64, _ bool) bool { return l.rows[v].commit == newest })
	}
	mend, err := repair.Repair(t.Context(), dir, nil)
	if slices.ContainsFunc(found.Damages, func(d repair.Damage) bool { return d.All }) {
		if !errors.Is(err, repair.ErrBeyondRepair) {
			t.Fatalf("%s: %v, want %v", name, err, repair.ErrBeyondRepair)
		}
		return false
	}
	if err != nil || len(mend.Damages) != len(found.Damages) {
		t.Fatalf("%s: repair: %v, %+v, verified %+v", name, err, mend, found)
	}
	l.compare(t, name, dir, want)
	for _, d := range found.Damages {
		aside := dir.Get(d.File + repair.Suffix)
		if data, there := before[d.File]; there && !bytes.Equal(aside, data) {
			t.Fatalf("%s: %s is not set aside", name, d.File)
		}
		if again, err := repair.Verify(t.Context(), dir, nil); err != nil || slices.Contains(again.Aside, d.File+repair.Suffix) != (aside != nil) {
			t.Fatalf("%s: %v, %+v", name, err, again)
		}
	}
	return true
}

// compare holds a repaired directory to the rows that it must have.
func (l *left) compare(t *testing.T, name string, dir *crashfs.FS, want map[int64]bool) {
	t.Helper()
	if again, err := repair.Verify(t.Context(), dir, nil); err != nil || !again.IsWhole() || again.Rows != int64(len(want)) {
		t.Fatalf("%s: after the repair: %v, %+v, want %d rows", name, err, again, len(want))
	}
	if got, err := valuesOf(t, dir); err != nil || !maps.Equal(got, want) {
		t.Fatalf("%s: %d rows after the repair, want %d of %d: %v", name, len(got), len(want), len(l.rows), err)
	}
}

// writable opens a directory to write, adds rows to all buckets, and opens it again.
func (l *left) writable(t *testing.T, name string, dir *crashfs.FS) {
	t.Helper()
	before, err := valuesOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	more := &left{rows: maps.Clone(l.rows)}
	store, err := columnstore.Open(options(dir))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 12 {
		more.commit(t, store, rng, 7*i)
	}
	crashed := dir.Crash()
	_ = store.Close()
	for v := range more.rows {
		if _, old := l.rows[v]; !old {
			before[v] = true
		}
	}
	for _, dir := range []*crashfs.FS{crashed, dir} {
		if got, err := valuesOf(t, dir); err != nil || !maps.Equal(got, before) {
			t.Fatalf("%s: %d rows after more inserts, want %d: %v", name, len(got), len(before), err)
		}
	}
}

// One byte that is changed, or a file that is gone, anywhere: what is not damaged stays, to the row, and
// no byte of what is damaged goes. The directory takes rows again.
func TestRepair_AnyFile(t *testing.T) {
	effort.Slow(t)
	l := run(t)
	kinds := map[string]int{}
	for _, file := range slices.Sorted(maps.Keys(l.files)) {
		size := len(l.files[file])
		kind, _, _ := disk.ParseName(file)
		// One segment is a spare. One file of a kind is enough for races: nothing runs beside a repair.
		if size == 0 || effort.Race && kinds[kind] > 0 {
			continue
		}
		places := []int{0, 20, size / 3, size / 2, size - 30, size - 5}
		if kind == disk.LogKind {
			for at := 4096; at < size; at += size / 12 {
				places = append(places, at)
			}
		}
		places = append(places, -1)
		if effort.Race || kinds[kind] >= 4 && !effort.Full {
			places = places[len(places)-2:]
		}
		for i, at := range places {
			name := fmt.Sprint(file, " at ", at)
			dir := l.directory(func(name string, data []byte) []byte {
				switch {
				case name != file:
				case at < 0:
					return nil
				default:
					data[at] ^= 0x10
				}
				return data
			})
			if l.check(t, name, dir) {
				kinds[kind]++
				if i%6 == 0 {
					l.writable(t, name, dir)
				}
			}
		}
	}
	for _, kind := range []string{files.ManifestKind, files.RowsKind, files.DictsKind, files.StatesKind, disk.LogKind} {
		if kinds[kind] < 1 || kinds[kind] < 4 && !effort.Race {
			t.Errorf("%d repairs of %s", kinds[kind], kind)
		}
	}
	t.Log(kinds)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Several files at once.
func TestRepair_Several(t *testing.T) {
	effort.Long(t)
	l := run(t)
	rng := rand.New(rand.NewPCG(5, 6))
	names := slices.Sorted(maps.Keys(l.files))
	for i := range 40 - 35*boolInt(effort.Race) {
		bad := map[string]bool{}
		for range 1 + rng.IntN(4) {
			bad[names[rng.IntN(len(names))]] = true
		}
		dir := l.directory(func(name string, data []byte) []byte {
			if bad[name] && len(data) > 0 {
				data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
			}
			return data
		})
		l.check(t, fmt.Sprint(i, bad), dir)
	}
}

// A repair that ends at any call leaves a directory that is refused, or one that has what a whole repair
// leaves, and another repair ends the work.
func TestRepair_Crash(t *testing.T) {
	effort.Slow(t)
	l := run(t)
	segments := []string{}
	for name, data := range l.files {
		if strings.HasPrefix(name, disk.LogKind) && len(data) > 0 {
			segments = append(segments, name)
		}
	}
	last := slices.Max(segments)
	dicts := disk.FileName(files.DictsKind, l.manifest.Tables[0].Generations[0].Files[0])
	bucket := l.manifest.Tables[0].Buckets[3]
	rows := disk.FileName(files.RowsKind, bucket.File)
	for _, names := range [][]string{{dicts, rows, last}, {dicts, rows}, {dicts}} {
		l.crash(t, names, func(name string, data []byte) []byte {
			switch {
			case !slices.Contains(names, name):
			case name == last:
				data[4096+(len(data)-4096)/2] ^= 1
			case name == rows:
				data[bucket.Place.Offset] ^= 1
			default:
				data[len(data)/2] ^= 1
			}
			return data
		})
	}
}

// crash repairs some damage, with a crash at any call, and again.
func (l *left) crash(t *testing.T, names []string, damage func(name string, data []byte) []byte) {
	t.Helper()
	found, err := repair.Verify(t.Context(), l.directory(damage), nil)
	if err != nil || len(found.Damages) != len(names) {
		t.Fatalf("%+v, %v", found, err)
	}
	want := l.expected(t, found.Damages)
	for n := 0; ; n += 1 + 8*boolInt(effort.Race) {
		dir := l.directory(damage)
		fault := &crashfs.Fault{Err: syscall.EIO, After: n, Forever: true, Ops: []crashfs.Op{crashfs.Create, crashfs.Remove, crashfs.SyncDir, crashfs.WriteAt, crashfs.Sync, crashfs.Reserve}}
		dir.Fail(fault)
		_, err := repair.Repair(t.Context(), dir, nil)
		dir.Heal()
		for _, dir := range []*crashfs.FS{dir.Crash(), dir} {
			if got, err := valuesOf(t, dir); err == nil && !maps.Equal(got, want) {
				t.Fatalf("call %d: %d rows, want %d", n, len(got), len(want))
			}
			if _, err := repair.Repair(t.Context(), dir, nil); err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
			l.compare(t, fmt.Sprint("call ", n), dir, want)
			for _, name := range names {
				if data := damage(name, slices.Clone(l.files[name])); !bytes.Equal(dir.Get(name+repair.Suffix), data) {
					t.Fatalf("call %d: %s is not set aside", n, name)
				}
			}
		}
		if fault.Fired == 0 {
			if err != nil || n < 20 {
				t.Fatalf("%d calls, %v", n, err)
			}
			break
		}
	}
}

// Directories of earlier versions are whole.
func TestVerify_Format(t *testing.T) {
	releases, err := filepath.Glob(filepath.Join("..", "..", "columnstore", "testdata", "format", "*", "db"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("%d directories, %v", len(releases), err)
	}
	for _, dir := range releases {
		read, total := int64(0), int64(0)
		r, err := repair.Verify(t.Context(), disk.System(dir), func(done, all int64) { read, total = done, all })
		if err != nil || !r.IsWhole() || r.Rows != 480 || r.Entries == 0 || read == 0 || read > total {
			t.Errorf("%s: %+v, %v; %d of %d bytes", dir, r, err, read, total)
		}
	}
}
