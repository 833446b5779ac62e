package iceberg

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// loadedFrom loads all rows of a table.
func loadedFrom(t *testing.T, l *Lake) (rows, records, profile []string) {
	t.Helper()
	db, all := openDB(t), LoadOptions{From: start - day, To: start + 2*day}
	if n, err := l.Load(t.Context(), db, all); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	return stackKeys(t, db, all), recordsOf(t, db, all), merged(t, db, all)
}

// distinctRows returns the distinct rows of a table of symbols, without node and seal, and the number of all.
func distinctRows(t *testing.T, l *Lake) (map[string]int, int) {
	t.Helper()
	rows, all := map[string]int{}, 0
	for _, key := range gotRows(t, l) {
		r := row{}
		if err := json.Unmarshal([]byte(key), &r); err != nil {
			t.Fatal(err)
		}
		delete(r, columnNode)
		delete(r, columnSeal)
		rows[r.key()]++
		all++
	}
	return rows, all
}

// Of symbols each stack and location stays once a day, and what Load restores is the same.
func TestCompact_Symbols(t *testing.T) {
	l, node := newSymbolLake(t)
	s := &Sealer{Lake: l, Node: "n", Store: node.Store(), Table: node.Table(), Grace: time.Hour}
	insert(t, node, 4, 9, 30) // late rows of the same stacks
	if did, err := s.Seal(t.Context(), time.Unix(0, start).Add(time.Hour)); err != nil || did.Units < 2 {
		t.Fatalf("%+v, %v", did, err)
	}
	before, rows := map[int]map[string]int{}, map[int]int{}
	for side := range sides {
		before[side], rows[side] = distinctRows(t, l.beside(side))
	}
	wantRows, wantRecords, wantProfile := loadedFrom(t, l)
	for _, memory := range []int{0, 1} { // with 1 less is known of the rows before, and no row is lost
		opts := small
		opts.memory = memory
		if memory == 1 {
			insert(t, node, 4, 9, 30)
			if did, err := s.Seal(t.Context(), time.Unix(0, start).Add(time.Hour)); err != nil || did.Units < 2 {
				t.Fatalf("%+v, %v", did, err)
			}
			wantRows, wantRecords, wantProfile = loadedFrom(t, l)
		}
		did := compacted(t, l, opts)
		if did.Left+did.Later > 0 || did.Repeated == 0 {
			t.Errorf("%+v", did)
		}
		for side := range sides {
			now, all := distinctRows(t, l.beside(side))
			if !slices.Equal(slices.Sorted(maps.Keys(before[side])), slices.Sorted(maps.Keys(now))) {
				t.Errorf("side %d: %d distinct rows of %d", side, len(now), len(before[side]))
			}
			if memory == 0 && (all != len(now) || all == rows[side]) {
				t.Errorf("side %d: %d rows of %d, %d distinct ones", side, all, rows[side], len(now))
			}
			for name, f := range filesOf(t, l.beside(side)) {
				if f.first != f.last {
					t.Errorf("file %s is of several days", name)
				}
			}
		}
		gotRows, gotRecords, gotProfile := loadedFrom(t, l)
		same(t, wantRows, gotRows)
		if diff := cmp.Diff([][]string{wantRecords, wantProfile}, [][]string{gotRecords, gotProfile}); diff != "" {
			t.Errorf("symbols (-before +after):\n%s", diff)
		}
	}
}

// Symbols of a unit whose samples are not in the table are left as they are: a row of another unit can be deleted, and theirs not.
func TestCompact_UnderWay(t *testing.T) {
	l, _ := newSymbolLake(t)
	store, other, err := openNode(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	insert(t, other, 9, 9, 30) // with stacks of its own
	registered(t, l, "slow")
	files, err := l.Write(t.Context(), unit(t, other, "slow", 3))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.commitSides(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	compacted(t, l, small)
	if _, err := l.Delete(t.Context(), DeleteOptions{From: start - day, To: start + 2*day, Labels: map[string]string{"job": "job0"}}); err != nil {
		t.Fatal(err)
	}
	for side := range sides {
		for _, f := range files.sides[side] {
			if filesOf(t, l.beside(side))[f.FilePath()] == nil {
				t.Errorf("%s is no longer there", f.FilePath())
			}
		}
	}
	if added, err := l.Commit(t.Context(), files); err != nil || !added {
		t.Fatal(added, err)
	}
	_, records, _ := loadedFrom(t, l)
	for _, r := range recordsOf(t, other, LoadOptions{From: start - day, To: start + 2*day}) {
		if !slices.Contains(records, r) {
			t.Errorf("a location is lost: %.60s", r)
		}
	}
}

// Lines of a location that another engine has put out of their order are left alone with their file.
func TestCompact_Lines(t *testing.T) {
	l, _ := newSymbolLake(t)
	places := l.beside(sideLocations)
	tbl := mustLoad(t, places)
	schema, records, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var turned []arrow.RecordBatch
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		for row := rec.NumRows() - 1; row >= 0; row-- {
			turned = append(turned, rec.NewSlice(row, row+1))
		}
	}
	appendRecords(t, tbl, schema, turned)
	var why []string
	opts := small
	opts.Left = func(err error) { why = append(why, err.Error()) }
	compacted(t, l, opts)
	if len(why) == 0 || !strings.Contains(why[0], "order") {
		t.Errorf("left: %q", why)
	}
}

// The catalog elects one of several: another one waits until it has ended, or has been silent for long.
func TestElect(t *testing.T) {
	l := newUnits(t, 1, 2)
	now := time.Unix(1_800_000_000, 0)
	if other, ok, err := l.elect(t.Context(), "a", now); err != nil || !ok {
		t.Fatal(other, ok, err)
	}
	opts := small
	opts.Name, opts.now = "b", func() time.Time { return now.Add(electedFor - time.Second) }
	before := gotRows(t, l)
	if did := compacted(t, l, opts); did != (Compacted{Other: "a"}) {
		t.Errorf("beside another: %+v", did)
	}
	opts.Name = "a"
	if did := compacted(t, l, opts); did.Files != 4 || did.Other != "" {
		t.Errorf("the elected: %+v", did)
	}
	if name, _ := maintainerOf(mustLoad(t, l).Properties()); name != "" {
		t.Errorf("%s has not resigned", name)
	}
	same(t, before, gotRows(t, l))

	if other, ok, err := l.elect(t.Context(), "a", now); err != nil || !ok {
		t.Fatal(other, ok, err)
	}
	if other, ok, err := l.elect(t.Context(), "a", now.Add(electedFor*3/4)); err != nil || !ok {
		t.Fatal(other, ok, err)
	}
	if other, ok, err := l.elect(t.Context(), "b", now.Add(electedFor+time.Second)); err != nil || ok || other != "a" {
		t.Errorf("after a renewal: %q, %v, %v", other, ok, err)
	}
	if other, ok, err := l.elect(t.Context(), "b", now.Add(2*electedFor)); err != nil || !ok {
		t.Errorf("after a maintainer died: %q, %v, %v", other, ok, err)
	}
	if err := l.resign(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if name, _ := maintainerOf(mustLoad(t, l).Properties()); name != "b" {
		t.Errorf("%q is elected", name)
	}
	opts.Name = "a b"
	if _, err := l.Compact(t.Context(), opts); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
}

// A location of which two units know different lines keeps both.
func TestCompact_Versions(t *testing.T) {
	l, _ := newSymbolLake(t)
	places := l.beside(sideLocations)
	tbl := mustLoad(t, places)
	schema, records, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := schema.FieldIndices(columnLine)[0]
	var moved []arrow.RecordBatch
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		b, lines := array.NewInt64Builder(memory.DefaultAllocator), rec.Column(at).(*array.Int64)
		for row := range lines.Len() {
			b.Append(lines.Value(row) + 1000)
		}
		arrays := slices.Clone(rec.Columns())
		arrays[at] = b.NewArray()
		moved = append(moved, array.NewRecordBatch(schema, arrays, rec.NumRows()))
	}
	appendRecords(t, tbl, schema, moved)
	before, _ := distinctRows(t, places)
	did := compacted(t, l, small)
	after, all := distinctRows(t, places)
	if did.Left > 0 || all != len(after) || !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		t.Errorf("%d distinct rows, were %d: %+v", len(after), len(before), did)
	}
}
