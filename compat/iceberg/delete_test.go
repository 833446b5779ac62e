package iceberg

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// without returns the rows that a deletion leaves, by their text.
func without(t *testing.T, rows []string, o DeleteOptions) (left []string) {
	t.Helper()
	for _, key := range rows {
		var r struct {
			Time   int64             `json:"time_nanos"`
			Labels map[string]string `json:"labels"`
		}
		if err := json.Unmarshal([]byte(key), &r); err != nil {
			t.Fatal(err)
		}
		chosen := r.Time >= o.From && r.Time < o.To
		for name, value := range o.Labels {
			chosen = chosen && r.Labels[name] == value
		}
		if !chosen {
			left = append(left, key)
		}
	}
	return left
}

// deletedRows deletes rows and fails the test if that fails. It returns the number of deleted samples.
func deletedRows(t *testing.T, l *Lake, opts DeleteOptions) (rows int64) {
	t.Helper()
	done, err := l.Delete(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range done {
		if r.Table == l.Name() {
			rows += r.Deleted
		}
	}
	return rows
}

// The chosen rows go, and no other row changes; files without such rows stay.
func TestDelete(t *testing.T) {
	for name, opts := range map[string]DeleteOptions{
		"a label":               {From: start - day, To: start + 2*day, Labels: map[string]string{"pod": "pod3"}},
		"two labels":            {From: start - day, To: start + 2*day, Labels: map[string]string{"zone.é": "süd", "job": "job1"}},
		"a range":               {From: start + 20e9, To: start + 60e9},
		"a range and a label":   {From: start + 20e9, To: start + 70e9, Labels: map[string]string{"job": "job0"}},
		"a row's time":          {From: start, To: start + 1},
		"up to a row's time":    {From: start - day, To: start},
		"a label that is not":   {From: start - day, To: start + 2*day, Labels: map[string]string{"pod": "pod30"}},
		"all":                   {From: -1 << 63, To: 1<<63 - 1},
		"all of a job, or none": {From: -1 << 63, To: 1<<63 - 1, Labels: map[string]string{"job": "job0", "pod": "pod1"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newUnits(t, 2, 2)
			before, files, props := gotRows(t, l), filesOf(t, l), mustLoad(t, l).Properties()
			want := without(t, before, opts)
			if got := deletedRows(t, l, opts); got != int64(len(before)-len(want)) {
				t.Errorf("%d rows deleted, want %d of %d", got, len(before)-len(want), len(before))
			}
			same(t, want, gotRows(t, l))
			now := filesOf(t, l)
			for name := range files {
				if len(want) == len(before) && now[name] == nil {
					t.Errorf("%s was written again", name)
				}
			}
			if got := mustLoad(t, l).Properties(); len(got) != len(props) || got[nodePrefix+"node-0"] != props[nodePrefix+"node-0"] {
				t.Errorf("properties %v, were %v", got, props)
			}
			if r, err := l.Remaining(t.Context(), opts, false); err != nil || len(r) > 0 {
				t.Errorf("remaining: %v, %v", r, err)
			}
			if len(want) < len(before) {
				snapshots := 0
				r, err := l.Remaining(t.Context(), opts, true)
				for _, s := range r {
					snapshots++
					if s.Rows > int64(len(before)-len(want)) || len(s.Refs) > 0 {
						t.Errorf("%+v", s)
					}
				}
				if err != nil || snapshots == 0 {
					t.Errorf("older snapshots: %v, %v", r, err)
				}
			}
		})
	}
	l := newUnits(t, 1, 1)
	for _, opts := range []DeleteOptions{{}, {From: 2, To: 1}, {To: 1, Labels: map[string]string{"": "x"}}, {To: 1, Labels: map[string]string{"x": ""}}} {
		if _, err := l.Delete(t.Context(), opts); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// After expiry no snapshot has the rows, and their files are gone; a tag that keeps a snapshot is named.
func TestDelete_Expired(t *testing.T) {
	l := newUnits(t, 2, 2)
	opts := DeleteOptions{From: start - day, To: start + 2*day, Labels: map[string]string{"pod": "pod1"}}
	compacted(t, l, small)
	if _, err := l.Expire(t.Context(), ExpireOptions{Keep: 2}); err != nil { // so that a later one finds files that are gone
		t.Fatal(err)
	}
	var old []string
	for name := range filesOf(t, l) {
		old = append(old, name)
	}
	done, err := l.Delete(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if exist, err := l.Existing(t.Context(), old); err != nil || len(exist) != len(old) {
		t.Errorf("before expiry: %q, %v", exist, err)
	}
	snapshots := len(mustLoad(t, l).Metadata().Snapshots())
	if gone, err := l.Expire(t.Context(), ExpireOptions{Keep: 1}); err != nil || gone != snapshots-1 {
		t.Fatalf("%d of %d snapshots expired, %v", gone, snapshots, err)
	}
	if exist, err := l.Existing(t.Context(), old); err != nil || len(exist) > 0 || len(done) != len(old) {
		t.Errorf("after expiry: %q, %v, %d rewrites", exist, err, len(done))
	}
	if r, err := l.Remaining(t.Context(), opts, true); err != nil || len(r) > 0 {
		t.Errorf("remaining: %v, %v", r, err)
	}
	tbl := mustLoad(t, l)
	fs, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := tbl.CurrentSnapshot().Manifests(fs)
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, m := range manifests { // whose entries have bounds of labels
		if m.DeletedDataFiles() != 0 || m.AddedDataFiles()+m.ExistingDataFiles() == 0 {
			t.Errorf("manifest %s lists %d files that left", m.FilePath(), m.DeletedDataFiles())
		}
	}

	l = newUnits(t, 1, 1)
	tbl = mustLoad(t, l)
	kept := tbl.CurrentSnapshot().SnapshotID
	if _, _, err := l.catalog.CommitTable(t.Context(), l.ident, nil, []table.Update{table.NewSetSnapshotRefUpdate("audit", kept, table.TagRef, -1, -1, -1)}); err != nil {
		t.Fatal(err)
	}
	deletedRows(t, l, opts)
	if _, err := l.Expire(t.Context(), ExpireOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Remaining(t.Context(), opts, true); err != nil || len(r) != 1 || r[0].Snapshot != kept || !slices.Equal(r[0].Refs, []string{"audit"}) {
		t.Errorf("remaining: %+v, %v", r, err)
	}
}

// Rows that come between the read and the commit, with a unit or by another engine's rewrite, are deleted too.
func TestDelete_Meanwhile(t *testing.T) {
	l := newUnits(t, 2, 2)
	opts := DeleteOptions{From: start - day, To: start + 2*day, Labels: map[string]string{"pod": "pod1"}}
	db := openDB(t)
	insert(t, db, 3, 5, 20)
	late := wantRows(t, unit(t, db, "node-0", 9), "pod", "zone.é", "none")
	want := without(t, slices.Sorted(slices.Values(append(gotRows(t, l), late...))), opts)
	cut := withBefore(l, func() {
		addUnit(t, l, unit(t, db, "node-0", 9))
		compacted(t, l, small)
	})
	deletedRows(t, cut, opts)
	same(t, want, gotRows(t, l))
}

// A file whose rows are of several days, as another engine writes for a table by month, becomes a file for each.
func TestDelete_Days(t *testing.T) {
	l := newUnits(t, 1, 2)
	respec(t, l, func(u *table.UpdateSpec) *table.UpdateSpec {
		return u.RemoveField("time_day").AddField(columnTime, iceberg.MonthTransform{}, "time_month")
	})
	tbl := mustLoad(t, l)
	schema, records, err := tbl.Scan().ToArrowRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := arrowTable(t, schema, records)
	defer all.Release()
	if _, err := tbl.OverwriteTable(t.Context(), all, 1<<20, nil); err != nil {
		t.Fatal(err)
	}
	several := 0
	for _, f := range filesOf(t, l) {
		several += bit(f.first != f.last)
	}
	if several == 0 {
		t.Fatal("no file has rows of two days")
	}
	opts := DeleteOptions{From: start - day, To: start + 2*day, Labels: map[string]string{"pod": "pod1"}}
	want := without(t, gotRows(t, l), opts)
	if did := compacted(t, l, small); did.Files > 0 {
		t.Errorf("files of several days: %+v", did)
	}
	deletedRows(t, l, opts)
	same(t, want, gotRows(t, l))
	for name, f := range filesOf(t, l) {
		if f.first != f.last {
			t.Errorf("%s is of several days", name)
		}
	}
}

// Symbols that no sample needs go: also the symbols that an earlier call left because it was killed after the samples.
func TestDelete_Symbols(t *testing.T) {
	l, _ := newSymbolLake(t)
	opts := DeleteOptions{From: start - day, To: start + 2*day, Labels: map[string]string{"job": "app"}}
	text := func() string {
		return strings.Join(append(gotRows(t, l.beside(sideStacks)), gotRows(t, l.beside(sideLocations))...), "\n")
	}
	if !strings.Contains(text(), "/bin/app") {
		t.Fatal("no symbols of the binary")
	}
	before := gotRows(t, l)
	killed := withFaults(l, func(do func() error) error {
		err := do()
		if err == nil && len(without(t, gotRows(t, l), opts)) == len(gotRows(t, l)) {
			return errCut // and every answer from then on
		}
		return err
	})
	if _, err := killed.Delete(t.Context(), opts); err != nil && !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	same(t, without(t, before, opts), gotRows(t, l))
	deletedRows(t, l, opts)
	if got := text(); strings.Contains(got, "/bin/app") || !strings.Contains(got, "pkg.f") {
		t.Error("symbols of the binary are left, or all are gone")
	}
	all := LoadOptions{From: start - day, To: start + day}
	db := openDB(t)
	if n, err := l.Load(t.Context(), db, all); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	for _, r := range rowsOfUnit(t, unit(t, db, "", 0)) {
		if r[columnStackID] == nil {
			t.Fatalf("a row without a stack: %v", r)
		}
	}
	used, err := l.stackIDs(t.Context(), -1<<63, 1<<63-1)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range gotRows(t, l.beside(sideStacks)) {
		var r struct {
			ID int64 `json:"stack_id"`
		}
		if err := json.Unmarshal([]byte(key), &r); err != nil || !used[r.ID] {
			t.Fatalf("stack %d is left, %v", r.ID, err)
		}
	}
}
