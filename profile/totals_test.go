package profile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/columnstore"
)

// The totals, the sources and the newest times of labels agree with what insertHeaps says of them.
func TestTotals(t *testing.T) {
	db := testDB(t, Options{Without: []string{"file"}})
	insertHeaps(t, db)
	snap, ctx := view(t, db), t.Context()
	pod := func(name string) []Label { return []Label{{"pod", name}} }
	check := func(what string, err error, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", what, err, diff)
		}
	}
	totals, err := db.Totals(ctx, snap, heapSpace, Query{}, "pod")
	check("means", err, totals, []LabelTotal{{pod("p"), 40}, {pod("q"), 7}})
	totals, err = db.Totals(ctx, snap, heapSpace, Query{SumGauges: true}, "pod", "none")
	check("sums", err, totals, []LabelTotal{{pod("p"), 160}, {pod("q"), 14}})
	totals, err = db.Totals(ctx, snap, heapSpace, Query{}, "none")
	check("of all", err, totals, []LabelTotal{{nil, 47}})
	sources, err := db.SourcesBy(ctx, snap, heapSpace, Query{}, "none")
	check("sources", err, sources, []LabelSources{{nil, 2}})
	sources, err = db.SourcesBy(ctx, snap, heapSpace, Query{From: start + 15*int64(time.Second), To: start + 25*int64(time.Second)}, "pod")
	check("sources of a range", err, sources, []LabelSources{{pod("p"), 1}})
	newest, err := db.NewestBy(ctx, snap, heapSpace, Query{To: start + 25*int64(time.Second)}, "pod")
	check("newest", err, newest, []LabelTime{{pod("p"), start + 20*int64(time.Second)}, {pod("q"), start}})
	for what, f := range map[string]func(Query, ...string) error{
		"totals":  func(q Query, by ...string) error { _, err := db.Totals(ctx, snap, heapSpace, q, by...); return err },
		"sources": func(q Query, by ...string) error { _, err := db.SourcesBy(ctx, snap, heapSpace, q, by...); return err },
		"newest":  func(q Query, by ...string) error { _, err := db.NewestBy(ctx, snap, heapSpace, q, by...); return err },
	} {
		if err := f(Query{}, ""); !errors.Is(err, columnstore.ErrQuery) {
			t.Errorf("%s by an empty name: %v", what, err)
		}
		if err := f(Query{MaxBytes: 16}, "pod"); !errors.Is(err, columnstore.ErrQueryMemory) {
			t.Errorf("%s in 16 bytes: %v", what, err)
		}
	}
}
