package cold

import (
	"context"
	"errors"
	"math"
	"slices"
	"syscall"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/cache"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/querytest"
)

// desk is a table whose rows are in memory, and what its files are written with.
type desk struct {
	*querytest.Table
	t        *testing.T
	fs       *crashfs.FS
	dir      *files.Dir
	files    *Files
	partial  Partial
	reserved int64
	refuse   func(bytes int64) bool // a reservation
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{Table: querytest.Open(t, querytest.Options{}, querytest.Samples(10)), t: t, fs: crashfs.New(crashfs.Options{}), partial: Partial{}}
	dir, _, err := files.OpenDir(d.fs, disk.StoreID{1})
	if err != nil {
		t.Fatal(err)
	}
	d.dir = dir
	d.files = &Files{
		Name: "samples", Schema: d.Env.Schema, Dir: func() *files.Dir { return d.dir },
		Cache: cache.New[Key](func(int64) bool { return true }),
	}
	d.refuse = func(int64) bool { return false }
	return d
}

var errShort = errors.New("memory is short")

// write writes the files of a run.
func (d *desk) write(ctx context.Context, change func(w *Writer), before *files.TableFiles) (out files.TableFiles, bytes int64, err error) {
	d.t.Helper()
	last := uint64(0)
	for _, g := range d.State().Granules.All() {
		for _, s := range g.Sections() {
			last = max(last, s.Part.Commit())
		}
	}
	w := &Writer{
		Dir: d.dir, Commit: last, Partial: d.partial, Limit: granule.Limit{Rows: math.MaxInt}, Yield: func(string) {},
		Reserve: func(bytes int64) error {
			if d.refuse(bytes) {
				return errShort
			}
			d.reserved += bytes
			return nil
		},
		Release: func(bytes int64) { d.reserved -= bytes },
	}
	change(w)
	err = w.Table(ctx, d.files, 0, d.Read().Use, before, &out)
	if d.reserved != 0 {
		d.t.Errorf("%d bytes stay reserved", d.reserved)
	}
	return out, w.Bytes, err
}

// timesIn reads the sorted times of a bucket's rows from its file.
func (d *desk) timesIn(f files.BucketFile) (times []int64) {
	d.t.Helper()
	column, _ := d.Env.Schema.Resolve("time")
	state := catalog.NewTableState(d.Env.Schema)
	b := &catalog.BucketState{Start: f.Start, Latest: f.Latest, Cold: coldOf(f, 0)}
	for g, err := range d.files.Granules(state, b, d.Generation(f.Start), catalog.ColdRead{Wide: true}) {
		if err != nil {
			d.t.Fatal(err)
		}
		for _, s := range g.Sections() {
			for _, word := range s.Part.Find(column, "time").Words().Append(nil, s.Lo, s.Hi) {
				times = append(times, encoding.ToInt64(word))
			}
		}
	}
	slices.Sort(times)
	return times
}

func sameFiles(*Writer)    {}
func shareFiles(w *Writer) { w.Small = math.MaxInt64 }
func stepByStep(w *Writer) { w.Steps = true }
func (d *desk) names() int { names, _ := d.fs.List(); return len(names) }
func (d *desk) fill() *desk {
	d.Insert(querytest.Pods("a", 1, 2))
	d.Insert(querytest.Pods("b", 11, 12, 3))
	return d
}

func places(f []files.BucketFile) (shared int) {
	for _, b := range f {
		if b.Place != (catalog.Place{}) {
			shared++
		}
	}
	return shared
}

// Each bucket is written once, to a file of its own or with other small ones, and read as it was. A later run takes the
// files of an earlier one, and writes again what has got rows.
func TestWriter_Table(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *Writer)
		shared int
	}{"own files": {sameFiles, 0}, "one file": {shareFiles, 2}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t).fill()
			first, bytes, err := d.write(t.Context(), test.change, nil)
			if err != nil || len(first.Buckets) != 2 || bytes != first.Buckets[0].Bytes+first.Buckets[1].Bytes || places(first.Buckets) != test.shared || len(d.partial) != 2 {
				t.Fatalf("%d bytes, %v, files %+v", bytes, err, first.Buckets)
			}
			for i, want := range [][]int64{{1, 2, 3}, {11, 12}} {
				b := first.Buckets[i]
				if got := d.timesIn(b); !slices.Equal(got, want) || b.Rows != int64(len(want)) || b.Shared != test.shared || d.partial[partialFile{0, b.Start}].File != b.File {
					t.Errorf("bucket %d of %+v has rows of %v", i, b, got)
				}
			}
			again, bytes, err := d.write(t.Context(), test.change, nil)
			if err != nil || bytes != 0 || !slices.Equal(again.Buckets, first.Buckets) {
				t.Errorf("a run after one that did not end writes %d bytes, %v", bytes, err)
			}
			clear(d.partial)
			if again, bytes, err = d.write(t.Context(), test.change, &first); err != nil || bytes != 0 || !slices.Equal(again.Buckets, first.Buckets) {
				t.Errorf("a run without new rows writes %d bytes, %v", bytes, err)
			}
			d.Insert(querytest.Pods("a", 13))
			again, bytes, err = d.write(t.Context(), test.change, &first)
			if err != nil || again.Buckets[0] != first.Buckets[0] || again.Buckets[1].File == first.Buckets[1].File || bytes != again.Buckets[1].Bytes {
				t.Errorf("a run with a new row writes %d bytes, %v: %+v", bytes, err, again.Buckets)
			}
			if got := d.timesIn(again.Buckets[1]); !slices.Equal(got, []int64{11, 12, 13}) {
				t.Errorf("the bucket with a new row has rows of %v", got)
			}
		})
	}
}

// A file of an earlier bucket with the same start, which was dropped, is not taken for a bucket that has no row yet.
func TestWriter_BornAgain(t *testing.T) {
	d := newDesk(t)
	d.BucketRows = 2
	d.Insert(querytest.Pods("a", 1, 2)) // and a cut at 3
	key, _ := d.Env.Schema.BucketBounds(3)
	b, ok := d.State().Buckets.Get(key)
	if !ok {
		t.Fatal("there is no cut")
	}
	for through, taken := range map[uint64]bool{b.Born - 1: false, b.Born: true} {
		old := files.BucketFile{Start: 3, File: 77, Through: through, Rows: 5}
		d.partial[partialFile{0, 3}] = old
		fromPartial, _, err := d.write(t.Context(), sameFiles, nil)
		if err != nil || (fromPartial.Buckets[1].File == 77) != taken {
			t.Errorf("a file of an earlier run through commit %d: %+v, %v", through, fromPartial.Buckets[1], err)
		}
		clear(d.partial)
		fromBefore, _, err := d.write(t.Context(), sameFiles, &files.TableFiles{Buckets: []files.BucketFile{old}})
		if err != nil || (fromBefore.Buckets[1].File == 77) != taken {
			t.Errorf("a file in the manifest through commit %d: %+v, %v", through, fromBefore.Buckets[1], err)
		}
	}
}

// A file that fewer than half of its buckets still use is written anew.
func TestWriter_Sparse(t *testing.T) {
	d := newDesk(t).fill()
	first, _, err := d.write(t.Context(), shareFiles, nil)
	if err != nil {
		t.Fatal(err)
	}
	for shared, kept := range map[int]bool{4: true, 5: false} { // two are left
		before := files.TableFiles{Buckets: slices.Clone(first.Buckets)}
		for i := range before.Buckets {
			before.Buckets[i].Shared = shared
		}
		clear(d.partial)
		out, _, err := d.write(t.Context(), shareFiles, &before)
		if err != nil || (out.Buckets[0].File == first.Buckets[0].File) != kept || out.Buckets[0].File != out.Buckets[1].File {
			t.Errorf("2 of %d buckets: %+v, %v", shared, out.Buckets, err)
		}
	}
}

// A call of the disk that fails ends the run with its error, whichever it is, and the next run writes all rows.
func TestWriter_Faults(t *testing.T) {
	for name, change := range map[string]func(w *Writer){"own files": sameFiles, "one file": shareFiles} {
		d := newDesk(t).fill()
		before := d.fs.Calls()
		if _, _, err := d.write(t.Context(), change, nil); err != nil {
			t.Fatal(err)
		}
		calls := d.fs.Calls() - before
		for after := range calls {
			d := newDesk(t).fill()
			d.fs.Fail(&crashfs.Fault{Err: syscall.EIO, After: after})
			if out, _, err := d.write(t.Context(), change, nil); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s, call %d of %d fails: %+v, %v", name, after, calls, out, err)
			}
			out, _, err := d.write(t.Context(), change, nil)
			if err != nil || len(out.Buckets) != 2 || len(d.timesIn(out.Buckets[0])) != 3 || len(d.timesIn(out.Buckets[1])) != 2 {
				t.Errorf("%s, after call %d failed: %+v, %v", name, after, out, err)
			}
		}
	}
}

// A run that is stopped, or has no memory, leaves no file that is begun.
func TestWriter_Stops(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, change := range map[string]func(w *Writer){"own files": sameFiles, "one file": shareFiles} {
		d := newDesk(t).fill()
		if _, _, err := d.write(ended, change, nil); !errors.Is(err, context.Canceled) || d.names() > 0 || len(d.partial) > 0 {
			t.Errorf("%s: %v, %d files", name, err, d.names())
		}
		d.refuse = func(int64) bool { return true }
		if _, _, err := d.write(t.Context(), change, nil); !errors.Is(err, errShort) || d.names() > 0 || len(d.partial) > 0 {
			t.Errorf("%s without memory: %v, %d files", name, err, d.names())
		}
	}
}

// While memory is short a granule is written by halves.
func TestWriter_Halves(t *testing.T) {
	d := newDesk(t)
	for range 8 {
		d.Insert(querytest.Pods("a", 1, 2, 3, 4, 5, 6, 7, 8))
	}
	var least int64 = math.MaxInt64
	for _, g := range d.State().Granules.All() {
		least = int64(g.RewriteSize())
	}
	tries := 0
	d.refuse = func(bytes int64) bool { tries++; return bytes > least*2/3 }
	out, _, err := d.write(t.Context(), sameFiles, nil)
	if err != nil || tries < 3 || out.Buckets[0].Rows != 64 || len(d.timesIn(out.Buckets[0])) != 64 {
		t.Errorf("%v after %d reservations, %+v", err, tries, out.Buckets)
	}
}

// A run in steps pauses when as many files are open as may be.
func TestWriter_Steps(t *testing.T) {
	d := newDesk(t)
	for i := range int64(100) {
		d.Insert(querytest.Pods("a", 10*i))
	}
	out, _, err := d.write(t.Context(), stepByStep, nil)
	if !errors.Is(err, ErrPause) || len(d.partial) == 0 || len(d.partial) == 100 || len(d.partial) != len(out.Buckets) {
		t.Fatalf("%v after %d files", err, len(d.partial))
	}
	if err := d.dir.Sync(); err != nil {
		t.Fatal(err)
	}
	if out, _, err = d.write(t.Context(), stepByStep, nil); err != nil || len(out.Buckets) != 100 {
		t.Errorf("%v, %d buckets in the end", err, len(out.Buckets))
	}
}

// An image of dictionaries is halved while memory is short, down to one that does not compress.
func TestWriter_DictionariesWithoutMemory(t *testing.T) {
	var asked []int64
	w := &Writer{Image: 4 * leastImage, Reserve: func(bytes int64) error { asked = append(asked, bytes); return errShort }}
	err := w.Dictionaries(t.Context(), nil, nil, nil)
	if want := []int64{8 * leastImage, 4 * leastImage, 2 * leastImage}; !errors.Is(err, errShort) || !slices.Equal(asked, want) {
		t.Errorf("%v after reservations of %v, want %v", err, asked, want)
	}
}
