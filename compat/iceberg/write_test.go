package iceberg

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"

	array14 "github.com/apache/arrow/go/v14/arrow/array"
)

// row is a row of the table by column. Maps and lists are in their Go form.
type row map[string]any

func (r row) key() string {
	b, err := json.Marshal(r) // keys of maps are sorted
	if err != nil {
		panic(err)
	}
	return string(b)
}

// wantRows returns the rows of a database as the table must have them, by another way than the
// writer's: plain records, once with ids and once with names.
func wantRows(t *testing.T, u Unit, labels ...string) []string {
	t.Helper()
	var keys []string
	for _, r := range rowsOfUnit(t, u, labels...) {
		keys = append(keys, r.key())
	}
	slices.Sort(keys)
	return keys
}

func rowsOfUnit(t *testing.T, u Unit, labels ...string) (rows []row) {
	t.Helper()
	var names [][]string
	opts := columnstore.ScanOptions{Form: columnstore.Plain, Ordered: true, Elements: profile.FunctionNames, Columns: []string{profile.ColumnStacktrace}}
	for rec, err := range u.Table.Scan(context.Background(), u.Snapshot, opts) {
		if err != nil {
			t.Fatal(err)
		}
		lists := rec.Column(0).(*array14.List)
		texts := lists.ListValues().(*array14.String)
		for i := range lists.Len() {
			from, to := lists.ValueOffsets(i)
			list := []string{}
			for j := from; j < to; j++ {
				list = append(list, strings.Clone(texts.Value(int(j))))
			}
			names = append(names, list)
		}
		rec.Release()
	}
	for rec, err := range u.Table.Scan(context.Background(), u.Snapshot, columnstore.ScanOptions{Form: columnstore.Plain, Ordered: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			r := row{
				columnNode: u.Node, columnSeal: u.Seal, columnStack: names[len(rows)],
				"labels": map[string]string{}, columnSampleText: map[string]string{}, columnSampleNum: map[string]int64{},
				"trace_id": nil, "span_id": nil,
			}
			for _, l := range labels {
				r[labelPrefix+l] = nil
			}
			for c, f := range rec.Schema().Fields() {
				addCell(r, f.Name, rec.Column(c), i)
			}
			rows = append(rows, r)
		}
		rec.Release()
	}
	return rows
}

func addCell(r row, name string, a interface{ IsNull(int) bool }, i int) {
	if a.IsNull(i) {
		return
	}
	family, label, _ := strings.Cut(name, ".")
	switch v := a.(type) {
	case *array14.String:
		text := strings.Clone(v.Value(i))
		switch family {
		case "labels":
			r["labels"].(map[string]string)[label] = text
			if _, ok := r[labelPrefix+label]; ok {
				r[labelPrefix+label] = text
			}
		case "pprof_labels":
			r[columnSampleText].(map[string]string)[label] = text
		default:
			r[name] = text
		}
	case *array14.Int64:
		switch {
		case family == "pprof_num_labels":
			r[columnSampleNum].(map[string]int64)[label] = v.Value(i)
		case name == "timestamp":
			r[columnTimeNanos] = v.Value(i)
			r[columnTime] = (v.Value(i) - (v.Value(i)%1000+1000)%1000) / 1000
		default:
			r[name] = v.Value(i)
		}
	case *array14.Uint64:
		r[name] = int64(v.Value(i))
	case *array14.FixedSizeBinary:
		r[name] = fmt.Sprintf("%x", v.Value(i))
	case *array14.List:
		ids := v.ListValues().(*array14.FixedSizeBinary)
		from, to := v.ValueOffsets(i)
		var all []byte
		for j := from; j < to; j++ {
			id := uuid.UUID(ids.Value(int(j)))
			all = append(all, id[:]...)
		}
		r[columnStackID] = int64(xxh3.Hash(all))
	default:
		panic(fmt.Sprintf("%T", a))
	}
}

// gotRows returns the rows of a table, read by iceberg-go.
func gotRows(t *testing.T, l *Lake) []string {
	t.Helper()
	ctx := context.Background()
	tbl, err := l.load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, records, err := tbl.Scan().ToArrowRecords(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			r := row{}
			for c, f := range rec.Schema().Fields() {
				r[f.Name] = cell(rec.Column(c), i)
			}
			keys = append(keys, r.key())
		}
		rec.Release()
	}
	slices.Sort(keys)
	return keys
}

func cell(a interface{ IsNull(int) bool }, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch v := a.(type) {
	case *array.Int64:
		return v.Value(i)
	case *array.Timestamp:
		return int64(v.Value(i))
	case *array.String:
		return strings.Clone(v.Value(i))
	case *array.Binary:
		return fmt.Sprintf("%x", v.Value(i))
	case *array.Map:
		from, to := v.ValueOffsets(i)
		m := map[string]any{}
		for j := from; j < to; j++ {
			m[v.Keys().(*array.String).Value(int(j))] = cell(v.Items(), int(j))
		}
		return m
	case *array.List:
		from, to := v.ValueOffsets(i)
		list := []string{}
		for j := from; j < to; j++ {
			list = append(list, strings.Clone(v.ListValues().(*array.String).Value(int(j))))
		}
		return list
	}
	panic(fmt.Sprintf("%T", a))
}

// same compares rows and reports the first that differ.
func same(t *testing.T, want, got []string) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	t.Errorf("%d rows, want %d", len(got), len(want))
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Fatalf("row %d: %s", i, cmp.Diff(want[i], got[i]))
		}
	}
}

// Invariant L3: the rows of a table are those of its units, column by column.
func TestWrite(t *testing.T) {
	ctx := context.Background()
	l := openLake(t, "pod", "zone.é", "none")
	db := openDB(t)
	insert(t, db, 6, 8, 30)
	u := unit(t, db, "node-1", 1)
	if err := l.Register(ctx, u.Node, ""); err != nil {
		t.Fatal(err)
	}
	files, err := l.Write(ctx, u)
	if err != nil {
		t.Fatal(err)
	}
	want := wantRows(t, u, "pod", "zone.é", "none")
	if files.Rows != int64(len(want)) || files.Len() != 2 {
		t.Errorf("%d rows in %d files, want %d in 2", files.Rows, files.Len(), len(want))
	}
	if added, err := l.Commit(ctx, files); err != nil || !added {
		t.Fatal(added, err)
	}
	same(t, want, gotRows(t, l))
	// The rows of the first day are of one bucket, so they are in the order of the table; those of
	// the second day are of several buckets.
	orders := map[string]int{}
	tbl, err := l.load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := tbl.Scan().PlanFiles(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id := table.UnsortedSortOrderID
		if has := task.File.SortOrderID(); has != nil {
			id = *has
		}
		for _, v := range task.File.Partition() {
			orders[fmt.Sprint(v)] = id
		}
	}
	first := int(start / day)
	if want := map[string]int{fmt.Sprint(first): 1, fmt.Sprint(first + 1): 0}; !maps.Equal(orders, want) {
		t.Errorf("sort orders by day %v, want %v", orders, want)
	}
}
