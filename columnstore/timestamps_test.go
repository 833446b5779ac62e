package columnstore

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/go-cmp/cmp"
)

// timesOf returns the times of a column of timestamps, run-end encoded or not.
func timesOf(t *testing.T, a arrow.Array) (times []int64) {
	t.Helper()
	if runs, ok := a.(*array.RunEndEncoded); ok {
		values := timesOf(t, runs.Values())
		for i := range runs.Len() {
			times = append(times, values[runs.GetPhysicalIndex(i)])
		}
		return times
	}
	if got := a.DataType().String(); got != "timestamp[ns]" {
		t.Fatalf("times are %s", got)
	}
	for _, at := range a.(*array.Timestamp).TimestampValues() {
		times = append(times, int64(at))
	}
	return times
}

// TestScan_Timestamps: named columns are timestamps of the same values, in each form, in
// RecordSchema and in Groups.Record, and a record of them inserts the same rows.
func TestScan_Timestamps(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(quarter))
	f := newFleet(1, 100)
	for n := range 5 {
		insert(t, table, f.profile(n, 40))
	}
	snap := snapshot(t, store)
	for _, form := range recordForms {
		copyStore, copied := open(t, Options{Manual: true, FutureLimit: -1}, samples(quarter))
		opts := ScanOptions{Form: form, Ordered: true, Timestamps: []string{"time"}}
		want, err := table.RecordSchema(snap, opts)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int64]bool{}
		for rec, err := range table.Scan(context.Background(), snap, opts) {
			if err != nil {
				t.Fatal(err)
			}
			if !rec.Schema().Equal(want) {
				t.Errorf("%v: %v, RecordSchema returns %v", form, rec.Schema(), want)
			}
			for _, at := range timesOf(t, rec.Column(rec.Schema().FieldIndices("time")[0])) {
				seen[at] = true
			}
			if _, err := copied.InsertRecord(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			rec.Release()
		}
		if len(seen) != 5 || !seen[4*scrapeEvery] {
			t.Errorf("%v: times %v", form, seen)
		}
		rows := allRows(t, copied, snapshot(t, copyStore), ScanOptions{})
		if diff := cmp.Diff(allRows(t, table, snap, ScanOptions{}), rows); diff != "" {
			t.Errorf("%v:\n%s", form, diff)
		}
		groups, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value", By: []string{"time"}})
		if err != nil {
			t.Fatal(err)
		}
		rec, err := groups.Record(RecordOptions{Form: form, Timestamps: []string{"time"}})
		if err != nil {
			t.Fatal(err)
		}
		if times := timesOf(t, rec.Column(0)); len(times) != 5 {
			t.Errorf("%v: groups of times %v", form, times)
		}
		rec.Release()
	}
	for _, name := range []string{"none", "kind", "stack"} {
		opts := ScanOptions{Timestamps: []string{name}}
		if _, err := table.RecordSchema(snap, opts); !errors.Is(err, ErrQuery) {
			t.Errorf("RecordSchema with %q: %v", name, err)
		}
		for _, err := range table.Scan(context.Background(), snap, opts) {
			if !errors.Is(err, ErrQuery) {
				t.Errorf("Scan with %q: %v", name, err)
			}
		}
	}
}
