package workloads

import (
	"testing"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/profile"
)

// TestArrow expects all rows and their sum in every form, and from FrostDB.
func TestArrow(t *testing.T) {
	v := smallFleet
	v.Symbols, v.Traces = false, false
	q := small(t, v, smallRows)
	f := fleet.NewVariant(fleet.Seed, v)
	figures, err := arrowFigures(q, 1)
	if err != nil {
		t.Fatal(err)
	}
	others, err := frostArrow(f, q.about.Profiles, 1)
	if err != nil {
		t.Fatal(err)
	}
	var rows, sum int64
	for n := range q.about.Profiles {
		b := f.Profile(n, fleet.Start)
		rows += int64(b.Rows)
		for _, value := range b.Columns[profile.ColumnValue].Int64s {
			sum += value
		}
	}
	for _, one := range append(figures, others...) {
		want := rows
		switch one.Name {
		case "merge-dictionary", "merge-plain", "frostdb-merge":
			want = int64(q.about.Stacks)
		}
		if one.Rows != want || one.Sum != sum || one.Records == 0 {
			t.Errorf("%s: %d rows, sum %d, in %d records; want %d, %d", one.Name, one.Rows, one.Sum, one.Records, want, sum)
		}
	}
}
