package profile

import (
	"errors"
	"regexp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/columnstore"
)

// TestSumsEqualTotals compares many sums of one read with Totals of each.
func TestSumsEqualTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		db, _, snap := drawSnapshot(t, 1, 30)
		defer func() { _ = db.store.Close() }()
		defer snap.Close()
		types, err := db.Types(ctx, snap)
		if err != nil {
			t.Fatal(err)
		}
		if len(types) == 0 {
			return
		}
		typ, q := rapid.SampledFrom(types).Draw(t, "type"), Query{SumGauges: rapid.Bool().Draw(t, "sums of gauges")}
		if all := drawQuery(t); rapid.Bool().Draw(t, "bounded") {
			q.From, q.To = all.From, all.To
		}
		sums := make([]SumChoice, rapid.IntRange(0, 5).Draw(t, "sums"))
		for i := range sums {
			one := drawQuery(t)
			sums[i] = SumChoice{Selector: one.Selector, Function: one.Function, By: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"job", "pod", "zone", "trace_id", "a.b", "a_b"}), 0, 3, rapid.ID).Draw(t, "by")}
		}
		got, err := db.Sums(ctx, snap, typ, q, sums)
		if err != nil {
			t.Fatal(err)
		}
		for i, sum := range sums {
			own := q
			own.Selector, own.Function = sum.Selector, sum.Function
			want, err := db.Totals(ctx, snap, typ, own, sum.By...)
			if mixed := new(MixedError); errors.As(err, &mixed) {
				if !errors.As(got[i].Err, &mixed) {
					t.Fatalf("%v: %v, want %v", sum, got[i], err)
				}
				continue
			}
			if diff := gocmp.Diff(want, got[i].Totals); err != nil || got[i].Err != nil || diff != "" {
				t.Fatalf("sum %d %s %v %v: %v %v %s", i, sum.Selector, sum.Function, sum.By, err, got[i].Err, diff)
			}
		}
	})
}

// TestSums_Errors: a memory limit, and an error for an empty name.
func TestSums_Errors(t *testing.T) {
	db := testDB(t, Options{})
	insert(t, db, makeProfile(start, "cpu:nanoseconds", stack{frames: "f g", values: []int64{3}}, stack{frames: "h g", values: []int64{4}}), "pod", "p")
	snap, cpu := view(t, db), Type{"cpu", "nanoseconds", AnyPeriod, AnyPeriod}
	got, err := db.Sums(t.Context(), snap, cpu, Query{}, []SumChoice{{}, {Function: regexp.MustCompile("^f$"), By: []string{"pod"}}, {Function: regexp.MustCompile("none")}})
	want := []SumTotals{{Totals: []LabelTotal{{nil, 7}}}, {Totals: []LabelTotal{{[]Label{{"pod", "p"}}, 3}}}, {}}
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, sum := range []SumChoice{{By: []string{""}}, {By: []string{""}, Function: regexp.MustCompile("f")}} {
		if _, err := db.Sums(t.Context(), snap, cpu, Query{}, []SumChoice{sum}); !errors.Is(err, columnstore.ErrQuery) {
			t.Errorf("by an empty name: %v", err)
		}
	}
	if _, err := db.Sums(t.Context(), snap, cpu, Query{MaxBytes: 16}, []SumChoice{{By: []string{"pod"}}}); !errors.Is(err, columnstore.ErrQueryMemory) {
		t.Errorf("in 16 bytes: %v", err)
	}
}
