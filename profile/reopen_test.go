package profile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// insertReal inserts real profiles. The counters of Go's heap profiles are inserted as differences.
func insertReal(t *testing.T, db *DB, names []string, deltas *Deltas) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := crc32.ChecksumIEEE([]byte(name)) % 100 // of a profile without a time
		opts := InsertOptions{
			Labels: map[string]string{"job": filepath.Base(filepath.Dir(name)), "file": filepath.Base(name)},
			Origin: name, Time: time.Unix(0, start+int64(at)*int64(time.Minute)),
		}
		if strings.HasPrefix(filepath.Base(name), "heap") {
			opts.Deltas, opts.Labels["file"] = deltas, "" // one series of profiles
		}
		if _, err := db.InsertEncoded(ctx, data, opts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// answersOf returns what a database of profiles answers: types, kinds, labels, profiles, and for
// each type its stacks with their symbols, functions and lines over time.
func answersOf(t *testing.T, db *DB) map[string]any {
	t.Helper()
	snap, out := view(t, db), map[string]any{}
	put := func(name string, answer any, err error) {
		t.Helper()
		if err != nil {
			answer = err.Error()
		}
		out[name] = answer
	}
	types, err := db.Types(ctx, snap)
	put("types", types, err)
	kinds, err := db.Kinds(ctx, snap, Query{})
	put("kinds", kinds, err)
	notes, err := db.table.Notes(snap)
	put("notes", notes, err)
	first, err := db.DefaultType(ctx, snap, Query{})
	put("default type", first, err)
	labels, err := db.LabelNames(ctx, snap, Query{})
	put("labels", labels, err)
	for _, name := range labels {
		values, err := db.LabelValues(ctx, snap, name, Query{})
		put("values of "+name, values, err)
	}
	for _, typ := range types {
		infos, err := db.Profiles(ctx, snap, typ, Query{})
		put(fmt.Sprintf("profiles of %v", typ), infos, err)
		for _, q := range []Query{{SumKinds: true}, {SumKinds: true, SumGauges: true}} {
			name := fmt.Sprintf("%v, %t", typ, q.SumGauges)
			lines, err := db.Range(ctx, snap, typ, q, RangeOptions{Step: time.Minute, By: []string{"job"}})
			put("lines of "+name, lines, err)
			stacks, err := db.Merge(ctx, snap, typ, q)
			if err != nil {
				t.Fatal(err)
			}
			put("total of "+name, stacks.Total, nil)
			if !q.SumGauges && typ.IsGauge() {
				continue // means are rounded in the order of the stacks, which is that of the parts
			}
			put("functions of "+name, stacks.Top(), nil)
			sums := map[string]int64{}
			var key []byte
			for frames, value := range stacks.All() {
				key = key[:0]
				for _, f := range frames {
					key = fmt.Appendf(key, "%s %s:%d %t\n", f.Function, f.File, f.Line, f.Inlined)
				}
				sums[string(key)] += value
			}
			put("stacks of "+name, sums, nil)
		}
	}
	selector, err := ParseSelector(`{job="pebble",__name__="mutex"}`)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := db.Profile(ctx, snap, Query{Selector: selector})
	if err != nil {
		t.Fatal(err)
	}
	out["pprof"] = answerOf(merged)
	return out
}

// After a restart a store answers as one in memory with the same profiles: from files, from the log
// alone, and from both, with a part of the profiles inserted after a restart.
func TestReopen_Answers(t *testing.T) {
	effort.Slow(t)
	t.Run("own", func(t *testing.T) { testReopen(t, beside.Profiles(t, false), 89) })
	t.Run("shared", func(t *testing.T) { testReopen(t, beside.Profiles(t, true), 119) })
}

// testReopen compares the answers about profiles, which are as many as answers says.
func testReopen(t *testing.T, names []string, answers int) {
	memory := testDB(t, Options{})
	insertReal(t, memory, names, NewDeltas(DeltaOptions{}))
	want := answersOf(t, memory)
	if len(want) != answers {
		t.Errorf("%d answers, want %d", len(want), answers)
	}
	for _, tc := range []struct {
		name     string
		closes   func(i int) bool // or the machine crashes
		logBytes int64
	}{
		{"files", func(int) bool { return true }, 1},
		{"log", func(int) bool { return false }, 1 << 40},
		{"both", func(i int) bool { return i%2 == 0 }, 64 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !effort.Full && tc.name != "both" {
				t.Skip("both has all that the other has: GRANARY_FULL runs it")
			}
			fs, deltas := crashfs.New(crashfs.Options{}), NewDeltas(DeltaOptions{})
			opts := columnstore.Options{
				Manual: true, FutureLimit: -1, PastLimit: -1, GranuleRows: 500, FreshParts: 2, Sync: disk.SyncEach, LogBytes: tc.logBytes,
			}
			const most = 25
			for i := 0; i*most < len(names); i++ {
				opts.FS = fs
				db := openDBIn(t, opts, Options{})
				insertReal(t, db, names[most*i:min(most*i+most, len(names))], deltas)
				if err := db.store.Maintain(ctx); err != nil {
					t.Fatal(err)
				}
				if tc.closes(i) {
					if err := db.store.Close(); err != nil {
						t.Fatal(err)
					}
				}
				fs = fs.Crash()
			}
			opts.FS = fs
			db := openDBIn(t, opts, Options{})
			defer db.store.Close()
			got := answersOf(t, db)
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s: %.2000s", name, diff)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d answers, want %d", len(got), len(want))
			}
		})
	}
}

// A directory of another schema is refused: of fewer columns, of more amid the others or that rows
// must have, with other buckets. The error names the difference, and the directory stays as it is.
// Columns behind the others that rows need not have are no difference.
func TestReopen_OtherSchema(t *testing.T) {
	without := Schema(DefaultBucket)
	without.Columns = slices.DeleteFunc(without.Columns, func(c schema.Column) bool { return c.Name == ColumnSpanID })
	with := Schema(DefaultBucket)
	with.Columns = append(with.Columns, schema.Column{Name: "extra", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true})
	with.Columns = append(with.Columns, schema.Column{Name: "more", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true})
	required := Schema(DefaultBucket)
	required.Columns = append(required.Columns, schema.Column{Name: "extra", Type: encoding.Int64, Encoding: encoding.Plain})
	amid := Schema(DefaultBucket)
	amid.Columns = slices.Insert(amid.Columns, 3, schema.Column{Name: "extra", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true})
	order := Schema(DefaultBucket)
	order.SortingKey = order.SortingKey[:len(order.SortingKey)-1]
	for _, tc := range []struct {
		name, want string
		def        schema.Definition
		ok         bool
	}{
		{"equal", "", Schema(DefaultBucket), true},
		{"fewer columns", `it has no such column "span_id"`, without, false},
		{"more columns", "", with, true},
		{"a column that rows must have", `it has a further column "extra"`, required, false},
		{"a column amid the others", `it has a further column "extra"`, amid, false},
		{"other buckets", "its buckets are of 1h0m0s", Schema(time.Hour), false},
		{"other order", "its order or its header differ", order, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opts := columnstore.Options{Manual: true, FS: crashfs.New(crashfs.Options{})}
			for range 2 {
				store, err := columnstore.Open(opts)
				if err != nil {
					t.Fatal(err)
				}
				if store.Table("profiles") == nil {
					if _, err := store.CreateTable("profiles", tc.def); err != nil {
						t.Fatal(err)
					}
				} else if _, err := Open(store, Options{}); tc.ok != (err == nil) || err != nil && (!errors.Is(err, columnstore.ErrTable) || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A table that has columns of a later release takes profiles, and answers as one without them, also
// beside rows that have values there, and after a restart.
func TestReopen_FurtherColumns(t *testing.T) {
	effort.Long(t)
	names := beside.Profiles(t, false)[:12]
	plain := testDB(t, Options{})
	insertReal(t, plain, names, NewDeltas(DeltaOptions{}))
	want := answersOf(t, plain)
	def := Schema(DefaultBucket)
	def.Columns = append(def.Columns,
		schema.Column{Name: "extra", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		schema.Column{Name: "more", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true})
	opts := columnstore.Options{Manual: true, FutureLimit: -1, PastLimit: -1, GranuleRows: 500, FS: crashfs.New(crashfs.Options{})}
	store, err := columnstore.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.CreateTable("profiles", def); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if i > 0 {
			if store, err = columnstore.Open(opts); err != nil {
				t.Fatal(err)
			}
		}
		db, err := Open(store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			insertReal(t, db, names, NewDeltas(DeltaOptions{}))
		}
		got := answersOf(t, db)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if diff := cmp.Diff(want[name], got[name]); diff != "" {
				t.Errorf("%s: %.2000s", name, diff)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d answers, want %d", len(got), len(want))
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
