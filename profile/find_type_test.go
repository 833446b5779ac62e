package profile

import (
	"errors"
	"testing"
	"time"
)

// The short name of a type means the type of the profiles that a query selects, also beside profiles of a type
// with the same short name.
func TestFindTypeIn(t *testing.T) {
	db := testDB(t, Options{})
	insert := func(at int64, types string, hasPeriod bool, job string) {
		t.Helper()
		p := makeProfile(at, types, stack{frames: "main", values: []int64{1, 2}})
		if !hasPeriod {
			p.PeriodType = nil
		}
		if _, err := db.Insert(t.Context(), p, InsertOptions{Labels: map[string]string{"job": job}}); err != nil {
			t.Fatal(err)
		}
	}
	insert(start, "samples:count cpu:nanoseconds", true, "a")
	insert(start, "cpu:nanoseconds wall:nanoseconds", false, "b")
	insert(start+int64(time.Hour), "samples:count cpu:nanoseconds", true, "b")
	snap := view(t, db)
	withPeriod, without := Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}, Type{"cpu", "nanoseconds", "", ""}
	for _, tc := range []struct {
		name, selector string
		from, to       int64
		want           Type
		ambiguous      bool
	}{
		{"cpu", `{job="a"}`, 0, 0, withPeriod, false},
		{"cpu:nanoseconds", `{job="a"}`, 0, 0, withPeriod, false},
		{"cpu", `{job="b"}`, 0, start + 1, without, false},
		{"cpu", `{job="b"}`, start + 1, 0, withPeriod, false},
		{"cpu", `{job="b"}`, 0, 0, Type{}, true},
		{"cpu", `{}`, 0, 0, Type{}, true},
		{"cpu", `{job="c"}`, 0, 0, withPeriod, false}, // the first
		{"wall", `{job="a"}`, 0, 0, Type{"wall", "nanoseconds", "", ""}, false},
		{without.String(), `{}`, 0, 0, without, false},
	} {
		selector, err := ParseSelector(tc.selector)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.FindTypeIn(t.Context(), snap, Query{Selector: selector, From: tc.from, To: tc.to}, tc.name)
		if got != tc.want || errors.Is(err, ErrAmbiguousType) != tc.ambiguous || err != nil && !tc.ambiguous {
			t.Errorf("%s of %s from %d to %d: %v, %v; want %v", tc.name, tc.selector, tc.from, tc.to, got, err, tc.want)
		}
	}
}
