package iceberg

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/profile"
)

// respec changes the partition spec of a table, as another engine does.
func respec(t *testing.T, l *Lake, change func(*table.UpdateSpec) *table.UpdateSpec) {
	t.Helper()
	tbl, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.NewTransaction()
	if err := change(tx.UpdateSpec(true)).Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// specs returns the ids of the partition specs of the table's files.
func specs(t *testing.T, l *Lake) map[int32]int {
	t.Helper()
	tbl, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := tbl.Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := map[int32]int{}
	for _, task := range tasks {
		files[task.File.SpecID()]++
	}
	return files
}

// A unit with several values of a label is added after another engine made the table partitioned by that label too: also if that came
// between its files and its commit. Then the partitions become months, and new files have these. Each row is there once.
func TestSpec(t *testing.T) {
	l, db := openLake(t, "job"), openDB(t)
	insert(t, db, 4, 2, 10)
	if err := l.Register(t.Context(), "n", ""); err != nil {
		t.Fatal(err)
	}
	write := func(seal int64) *Files {
		t.Helper()
		files, err := l.Write(t.Context(), unit(t, db, "n", seal))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	commit := func(files *Files) {
		t.Helper()
		if added, err := l.Commit(t.Context(), files); err != nil || !added {
			t.Fatalf("added: %v, %v", added, err)
		}
	}
	before := write(1)
	respec(t, l, func(u *table.UpdateSpec) *table.UpdateSpec { return u.AddIdentity(labelPrefix + "job") })
	commit(before)
	commit(write(2))
	if got := specs(t, l); len(got) != 1 || got[0] == 0 {
		t.Errorf("files by spec: %v, want that of init alone", got)
	}
	respec(t, l, func(u *table.UpdateSpec) *table.UpdateSpec {
		return u.RemoveField(labelPrefix+"job").RemoveField("time_day").AddField(columnTime, iceberg.MonthTransform{}, "time_month")
	})
	commit(write(3))
	if got := specs(t, l); len(got) != 2 || got[2] == 0 {
		t.Errorf("files by spec: %v, want that of months too", got)
	}
	var want []string
	for seal := range int64(3) {
		want = append(want, wantRows(t, unit(t, db, "n", seal+1), "job")...)
	}
	got := gotRows(t, l)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if err := l.DropBefore(t.Context(), time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if got := gotRows(t, l); len(got) > 0 {
		t.Errorf("%d rows of old days are left", len(got))
	}
}

// A file claims the sort order of init, and no other order that another engine gave the table (invariant L5).
func TestSpec_Order(t *testing.T) {
	l, db := openLake(t, "job"), openDB(t)
	p := profileOf(1, 1, 3)
	p.SampleType = p.SampleType[:1] // rows of one type are sorted
	for _, s := range p.Sample {
		s.Value = s.Value[:1]
	}
	if _, err := db.Insert(t.Context(), p, profile.InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	tbl, err := l.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	claimed := func(want int) {
		t.Helper()
		files, err := l.Write(t.Context(), unit(t, db, "n", 1))
		if err != nil {
			t.Fatal(err)
		}
		got := table.UnsortedSortOrderID
		if has := files.data[0].SortOrderID(); has != nil {
			got = *has
		}
		if got != want {
			t.Errorf("the file has the order %d, want %d", got, want)
		}
	}
	own := tbl.SortOrder().OrderID()
	if own == table.UnsortedSortOrderID {
		t.Fatal("init gives the table no order")
	}
	claimed(own)
	order, err := table.NewSortOrder(table.InitialSortOrderID, []table.SortField{{
		SourceIDs: []int{fieldID(tbl.Schema(), columnTime)}, Transform: iceberg.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsFirst,
	}})
	if err != nil {
		t.Fatal(err)
	}
	tx := tbl.NewTransaction()
	if err := tx.ReplaceSortOrder(order); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	claimed(table.UnsortedSortOrderID)
}

// A table without a spec whose partitions have whole days is refused by name, and nothing is written.
func TestSpec_None(t *testing.T) {
	l, db := openIn(t, t.TempDir()), openDB(t)
	insert(t, db, 2, 1, 3)
	schema, err := newSchema([]string{"job"})
	if err != nil {
		t.Fatal(err)
	}
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{
		SourceIDs: []int{fieldID(schema, labelPrefix+"job")}, FieldID: iceberg.PartitionDataIDStart, Name: "job", Transform: iceberg.IdentityTransform{},
	})
	if err := l.catalog.CreateNamespace(t.Context(), catalog.NamespaceFromIdent(l.ident), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.catalog.CreateTable(t.Context(), l.ident, schema, catalog.WithPartitionSpec(&spec), catalog.WithProperties(tableProperties())); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write(t.Context(), unit(t, db, "n", 1)); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), "day(time)") {
		t.Errorf("a table by label alone: %v", err)
	}
}
