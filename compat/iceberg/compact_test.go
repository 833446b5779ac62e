package iceberg

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// ended is a time after all days of tests.
var ended = time.Unix(0, start).Add(4 * 24 * time.Hour)

// small are options that join all files of ended days.
var small = CompactOptions{Before: ended, Files: 2, Small: 1 << 30}

// newUnits returns a table with units of several nodes, over midnight.
func newUnits(t *testing.T, nodes, seals int) *Lake {
	t.Helper()
	l := openLake(t, "pod", "zone.é", "none")
	for n := range nodes {
		id := fmt.Sprint("node-", n)
		registered(t, l, id)
		for seal := range seals {
			db := openDB(t)
			insert(t, db, 2+n+seal%3, 5, 20)
			addUnit(t, l, unit(t, db, id, int64(seal+1)))
		}
	}
	return l
}

// addUnit writes and commits a unit.
func addUnit(t *testing.T, l *Lake, u Unit) {
	t.Helper()
	files, err := l.Write(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if added, err := l.Commit(t.Context(), files); err != nil || !added {
		t.Fatal(added, err)
	}
}

// filesOf returns the files of a table.
func filesOf(t *testing.T, l *Lake) map[string]*oldFile {
	t.Helper()
	files, err := oldFiles(t.Context(), mustLoad(t, l))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// compacted compacts a table and fails the test if that fails.
func compacted(t *testing.T, l *Lake, opts CompactOptions) Compacted {
	t.Helper()
	did, err := l.Compact(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// Invariant L9: the rows of a table are the same after compaction, column by column, in one file a day. Nothing else of the table changes, and
// a second call has nothing to do.
func TestCompact(t *testing.T) {
	l := newUnits(t, 3, 4)
	before, props := gotRows(t, l), mustLoad(t, l).Properties()
	var reported []Rewrite
	opts := small
	opts.Progress = func(r Rewrite) { reported = append(reported, r) }
	did := compacted(t, l, opts)
	same(t, before, gotRows(t, l))
	if did.Files != 24 || did.New != 2 || did.Rows != int64(len(before)) || did.Left+did.Later > 0 || did.After >= did.Before {
		t.Errorf("%+v of %d rows", did, len(before))
	}
	if len(reported) != 2 || len(reported[0].Files) != 12 || reported[0].Rows+reported[1].Rows != did.Rows || !reported[0].Day.Before(reported[1].Day) {
		t.Errorf("reported: %+v", reported)
	}
	own := mustLoad(t, l).SortOrder().OrderID()
	for name, f := range filesOf(t, l) {
		if f.first != f.last || f.SortOrderID() == nil || *f.SortOrderID() != own {
			t.Errorf("file %s of days %d to %d, order %v", name, f.first, f.last, f.SortOrderID())
		}
	}
	if now := mustLoad(t, l).Properties(); !maps.Equal(props, now) {
		t.Errorf("properties %v, were %v", now, props)
	}
	if s := mustLoad(t, l).CurrentSnapshot(); s.Summary.Operation != table.OpReplace {
		t.Errorf("the operation is %s", s.Summary.Operation)
	}
	snapshot := mustLoad(t, l).CurrentSnapshot().SnapshotID
	if did := compacted(t, l, small); did != (Compacted{}) || mustLoad(t, l).CurrentSnapshot().SnapshotID != snapshot {
		t.Errorf("again: %+v", did)
	}
}

// Only small files of ended days with enough of them are read, and no more bytes than are allowed.
func TestCompact_Chosen(t *testing.T) {
	l := newUnits(t, 2, 3)
	midnight := time.Unix(0, start).Add(time.Minute)
	for _, c := range []struct {
		name string
		opts CompactOptions
		want Compacted
	}{
		{"no day has ended", CompactOptions{Before: midnight.Add(-time.Second), Files: 2, Small: 1 << 30}, Compacted{}},
		{"no day has so many", CompactOptions{Before: ended, Files: 7, Small: 1 << 30}, Compacted{}},
		{"no file is so small", CompactOptions{Before: ended, Files: 2, Small: 10}, Compacted{}},
		{"one day has ended", CompactOptions{Before: midnight, Files: 6, Small: 1 << 30}, Compacted{Files: 6, New: 1}},
	} {
		did := compacted(t, l, c.opts)
		if did.Files != c.want.Files || did.New != c.want.New {
			t.Errorf("%s: %+v", c.name, did)
		}
	}
	l = newUnits(t, 2, 3)
	opts := small
	opts.Bytes = 1
	for i, want := range []Compacted{{Files: 6, Later: 6}, {Files: 6}, {}} {
		if did := compacted(t, l, opts); did.Files != want.Files || did.Later != want.Later {
			t.Errorf("call %d: %+v", i, did)
		}
	}
	for _, opts := range []CompactOptions{{}, {Files: 1, Small: 1}, {Files: 2}, {Files: 2, Small: 1, Bytes: -1}} {
		if _, err := l.Compact(t.Context(), opts); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// With less memory a file has several runs: each row once, and no order is claimed (L5).
func TestCompact_Memory(t *testing.T) {
	l := newUnits(t, 3, 4)
	before := gotRows(t, l)
	opts := small
	opts.memory = 1 // a run for each record
	compacted(t, l, opts)
	same(t, before, gotRows(t, l))
	for name, f := range filesOf(t, l) {
		if id := f.SortOrderID(); id != nil && *id != table.UnsortedSortOrderID {
			t.Errorf("file %s claims the order %d", name, *id)
		}
	}
}

// withBefore returns a lake whose first commit that adds a snapshot has another change of the table before it.
func withBefore(l *Lake, change func()) *Lake {
	done := false
	return withFaults(l, func(do func() error) error {
		if !done {
			done = true
			change()
		}
		return do()
	})
}

// Nodes add units between the read and the commit: no row is lost, none is there twice.
func TestCompact_Appends(t *testing.T) {
	l := newUnits(t, 2, 3)
	db := openDB(t)
	insert(t, db, 3, 5, 20)
	late := wantRows(t, unit(t, db, "node-0", 9), "pod", "zone.é", "none")
	before := gotRows(t, l)
	did := compacted(t, withBefore(l, func() { addUnit(t, l, unit(t, db, "node-0", 9)) }), small)
	if did.Files != 12 || did.New != 2 {
		t.Errorf("%+v", did)
	}
	same(t, slices.Sorted(slices.Values(append(before, late...))), gotRows(t, l))
}

// Two maintainers compact the same files, and the slower one's files do not come beside those of the other.
func TestCompact_Twice(t *testing.T) {
	l := newUnits(t, 2, 3)
	before := gotRows(t, l)
	did := compacted(t, withBefore(l, func() {
		if did := compacted(t, l, small); did.Files != 12 {
			t.Errorf("the other: %+v", did)
		}
	}), small)
	if did != (Compacted{}) {
		t.Errorf("the slower one: %+v", did)
	}
	same(t, before, gotRows(t, l))
}

// The answer of a commit gets lost, and the files are not replaced again.
func TestCompact_LostAnswer(t *testing.T) {
	l := newUnits(t, 2, 3)
	before, snapshots := gotRows(t, l), len(mustLoad(t, l).Metadata().Snapshots())
	lost := 0
	did := compacted(t, withFaults(l, func(do func() error) error {
		if err := do(); err != nil {
			return err
		}
		if lost++; lost == 1 {
			return errCut
		}
		return nil
	}), small)
	if did.Files != 12 || did.New != 2 {
		t.Errorf("%+v", did)
	}
	if got := len(mustLoad(t, l).Metadata().Snapshots()); got != snapshots+2 {
		t.Errorf("%d snapshots more, want 2", got-snapshots)
	}
	same(t, before, gotRows(t, l))
}

// deleteRows deletes rows as other engines do: by a file of positions.
func deleteRows(t *testing.T, l *Lake, filter iceberg.BooleanExpression) {
	t.Helper()
	for _, mode := range []string{"merge-on-read", "copy-on-write"} {
		err := l.change(t.Context(), func(tbl *table.Table) (*table.Transaction, error) {
			tx := tbl.NewTransaction()
			if err := tx.SetProperties(iceberg.Properties{"write.delete.mode": mode}); err != nil {
				return nil, err
			}
			if mode == "copy-on-write" {
				return tx, nil
			}
			return tx, tx.Delete(t.Context(), filter, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ofPod chooses the rows of a pod.
func ofPod(pod string) iceberg.BooleanExpression {
	return iceberg.EqualTo(iceberg.Reference(labelPrefix+"pod"), pod)
}

// Rows that another engine deleted, by files of positions, stay away: those before the read, and those between it and the commit. The files of
// positions go with the rows.
func TestCompact_Deletes(t *testing.T) {
	l := newUnits(t, 2, 3)
	before := gotRows(t, l)
	deleteRows(t, l, ofPod("pod1"))
	first := gotRows(t, l)
	if len(first) == len(before) || len(first) == 0 {
		t.Fatalf("%d of %d rows are left", len(first), len(before))
	}
	compactedRows := func(rows []string) {
		t.Helper()
		same(t, rows, gotRows(t, l))
		for name, f := range filesOf(t, l) {
			if d := f.deletes(); len(d) > 0 {
				t.Errorf("file %s has deletes %q", name, d)
			}
		}
		deletes := mustLoad(t, l).CurrentSnapshot().Summary.Properties["total-delete-files"]
		if deletes != "0" {
			t.Errorf("%s delete files are left", deletes)
		}
	}
	var second []string
	did := compacted(t, withBefore(l, func() {
		deleteRows(t, l, ofPod("pod0"))
		second = gotRows(t, l)
	}), small)
	if did.Files != 0 { // both days had such rows
		t.Errorf("%+v, want nothing after a delete meanwhile", did)
	}
	if len(second) == len(first) || len(second) == 0 {
		t.Fatalf("%d of %d rows are left", len(second), len(first))
	}
	same(t, second, gotRows(t, l))
	if did := compacted(t, l, small); did.Rows != int64(len(second)) {
		t.Errorf("%+v, want %d rows", did, len(second))
	}
	compactedRows(second)
}

// addColumns adds columns to a table, as another engine does, and gives all of its rows values in them, in new files for each day.
func addColumns(t *testing.T, l *Lake, columns map[string]iceberg.Type, values func(b array.Builder, row int)) {
	t.Helper()
	tbl := mustLoad(t, l)
	tx := tbl.NewTransaction()
	change := tx.UpdateSchema(true, false)
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		change.AddColumn([]string{name}, columns[name], "", false, nil)
	}
	if err := change.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	tbl = mustLoad(t, l)
	schema, records, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var changed []arrow.RecordBatch
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		arrays := slices.Clone(rec.Columns())
		for i, f := range schema.Fields() {
			if columns[f.Name] == nil {
				continue
			}
			b := array.NewBuilder(memory.DefaultAllocator, f.Type)
			for row := range int(rec.NumRows()) {
				values(b, row)
			}
			arrays[i] = b.NewArray()
		}
		changed = append(changed, array.NewRecordBatch(schema, arrays, rec.NumRows()))
	}
	rows, err := array.NewRecordReader(schema, changed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Overwrite(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
}

// Columns that another engine added stay, with null where rows have none; a file with values that this package does not write is left
// alone, and named.
func TestCompact_Columns(t *testing.T) {
	l := newUnits(t, 1, 2)
	addColumns(t, l, map[string]iceberg.Type{"note": iceberg.PrimitiveTypes.String, "rank": iceberg.PrimitiveTypes.Int64}, func(b array.Builder, row int) {
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(fmt.Sprint("é", row%3))
		case *array.Int64Builder:
			if row%2 == 0 {
				b.AppendNull()
			} else {
				b.Append(int64(row))
			}
		}
	})
	db := openDB(t)
	insert(t, db, 3, 5, 20)
	addUnit(t, l, unit(t, db, "node-0", 3))
	before := gotRows(t, l)
	if did := compacted(t, l, small); did.Files != 4 || did.New != 2 || did.Left > 0 {
		t.Errorf("%+v", did)
	}
	same(t, before, gotRows(t, l))

	addColumns(t, l, map[string]iceberg.Type{"share": iceberg.PrimitiveTypes.Float64}, func(b array.Builder, row int) {
		b.(*array.Float64Builder).Append(float64(row) / 3)
	})
	addUnit(t, l, unit(t, db, "node-0", 4))
	addUnit(t, l, unit(t, db, "node-0", 5))
	files := len(filesOf(t, l))
	var why []string
	opts := small
	opts.Left = func(err error) { why = append(why, err.Error()) }
	did := compacted(t, l, opts)
	if did.Files != 4 || did.New != 2 || did.Left != 2 || len(filesOf(t, l)) != files-2 {
		t.Errorf("%+v", did)
	}
	if len(why) != 2 || !strings.Contains(why[0], `"share"`) || !strings.Contains(why[0], ".parquet") {
		t.Errorf("left: %q", why)
	}
}

// A row that another engine wrote with a map's value of null is left alone with its file.
func TestCompact_Null(t *testing.T) {
	l := newUnits(t, 1, 3)
	tbl := mustLoad(t, l)
	schema, records, err := tbl.Scan(table.WithLimit(5)).ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var changed []arrow.RecordBatch
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		arrays := slices.Clone(rec.Columns())
		at := schema.FieldIndices("labels")[0]
		b := array.NewBuilder(memory.DefaultAllocator, schema.Field(at).Type).(*array.MapBuilder)
		for range rec.NumRows() {
			b.Append(true)
			b.KeyBuilder().(*array.StringBuilder).Append("job")
			b.ItemBuilder().(*array.StringBuilder).AppendNull()
		}
		arrays[at] = b.NewArray()
		changed = append(changed, array.NewRecordBatch(schema, arrays, rec.NumRows()))
	}
	appendRecords(t, tbl, schema, changed)
	before := gotRows(t, l)
	did := compacted(t, l, small)
	if did.Left == 0 || did.Files != 6 {
		t.Errorf("%+v", did)
	}
	same(t, before, gotRows(t, l))
}

// appendRecords adds records to a table, as another engine does.
func appendRecords(t *testing.T, tbl *table.Table, schema *arrow.Schema, records []arrow.RecordBatch) {
	t.Helper()
	rows, err := array.NewRecordReader(schema, records)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Append(t.Context(), rows, nil); err != nil {
		t.Fatal(err)
	}
}

// On random faults of the catalog, beside nodes and another maintainer, each unit is there once.
func TestCompact_Faults(t *testing.T) {
	bySeed(t, 1, compactWithFaults)
}

func compactWithFaults(t *testing.T, rng *rand.Rand) {
	l := openLake(t)
	registered(t, l, "a")
	seal := int64(0)
	add := func() {
		seal++
		commitSeal(t, l, "a", seal)
	}
	var late []func() error
	cut := withFaults(l, func(do func() error) error {
		if len(late) > 0 && rng.IntN(2) == 0 { // an earlier request arrives
			_ = late[0]()
			late = late[1:]
		}
		switch rng.IntN(6) {
		case 0:
			return errCut
		case 1:
			return errors.Join(do(), errCut)
		case 2:
			late = append(late, do)
			return errCut
		case 3:
			if _, err := l.Compact(context.Background(), small); err != nil {
				t.Error(err)
			}
		case 4:
			add()
		}
		return do()
	})
	for range 6 {
		add()
		add()
		if _, err := cut.Compact(context.Background(), small); err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
	}
	for _, do := range late {
		_ = do()
	}
	checkUnits(t, l, map[string]int64{"a": seal})
	if n := len(filesOf(t, l)); n == int(seal) {
		t.Errorf("%d files of %d units", n, seal)
	}
}

// arrowTable collects records.
func arrowTable(t *testing.T, schema *arrow.Schema, records iter.Seq2[arrow.RecordBatch, error]) arrow.Table {
	t.Helper()
	var all []arrow.RecordBatch
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return array.NewTableFromRecords(schema, all)
}
