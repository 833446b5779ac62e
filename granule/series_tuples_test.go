package granule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// AllTuples returns the tuples of all series, whatever was asked before, and before series came.
func TestAllTuples(t *testing.T) {
	s := mustSchema(t, everything(0))
	g := NewGeneration(1)
	rng := rand.New(rand.NewPCG(2, 0))
	questions := [][]string{{"labels.a"}, {"labels.b", "labels.a"}, {"labels.none"}, {"labels.a", "labels.b", "labels.c"}, nil}
	for range 40 {
		addSeries(t, s, g, rng, rng.IntN(15))
		columns, _ := g.SeriesColumns(s, func(int) bool { return rng.IntN(3) > 0 })
		byColumn := byTuple(t, s, g, columns.Len())
		for range 6 {
			ask := questions[rng.IntN(len(questions))]
			want := map[string]bool{}
			for code := range uint32(columns.Len()) {
				tuple := make([]string, len(ask))
				for i, name := range ask {
					tuple[i] = byColumn[name][code+1]
				}
				want[fmt.Sprintf("%q", tuple)] = true
			}
			got := map[string]bool{}
			tuples := columns.AllTuples(ask)
			for _, tuple := range tuples {
				got[fmt.Sprintf("%q", tuple)] = true
			}
			if diff := gocmp.Diff(want, got); diff != "" || len(tuples) != len(got) {
				t.Fatalf("%q of %d series: %d tuples: -want +got\n%s", ask, columns.Len(), len(tuples), diff)
			}
		}
	}
}

// A small answer is kept, a large one is not.
func TestAllTuples_Kept(t *testing.T) {
	s := mustSchema(t, everything(0))
	g := NewGeneration(1)
	addSeries(t, s, g, rand.New(rand.NewPCG(3, 0)), 400)
	columns, _ := g.SeriesColumns(s, func(int) bool { return true })
	small, large := []string{"labels.none"}, []string{"labels.a"}
	columns.AllTuples(small)
	if n := testing.AllocsPerRun(10, func() { columns.AllTuples(small) }); n != 0 {
		t.Errorf("a known answer takes %.0f allocations", n)
	}
	if tuples := columns.AllTuples(large); len(tuples) <= maxTuples {
		t.Fatalf("%d tuples: the test needs more", len(tuples))
	}
	if kept := columns.all.Load(); !slices.Equal(kept.columns, small) {
		t.Errorf("the answer about %q was kept", kept.columns)
	}
}
