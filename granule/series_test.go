package granule

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/schema"
)

// addSeries gives series codes: each of some labels.
func addSeries(t *testing.T, s *schema.Schema, g *Generation, rng *rand.Rand, n int) {
	for range n {
		var labels []schema.SeriesValue
		for _, name := range []string{"labels.a", "labels.b", "labels.c"} {
			if rng.IntN(2) == 0 {
				labels = append(labels, schema.SeriesValue{Column: 1, Name: name, Value: fmt.Sprint(rng.IntN(400))})
			}
		}
		if _, err := g.Series.Intern(s.AppendTuple(nil, labels)); err != nil {
			t.Error(err)
			return
		}
	}
}

// byTuple is the expected SeriesColumns, read from the tuples.
func byTuple(t *testing.T, s *schema.Schema, g *Generation, n int) map[string]map[uint32]string {
	out := map[string]map[uint32]string{}
	for code := uint32(1); code <= uint32(n); code++ {
		labels, err := s.ReadTuple(g.Series.Value(code))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range labels {
			if out[l.Name] == nil {
				out[l.Name] = map[uint32]string{}
			}
			out[l.Name][code] = l.Value
		}
	}
	return out
}

func byColumn(t *testing.T, c *SeriesColumns) map[string]map[uint32]string {
	out := map[string]map[uint32]string{}
	c.Each(func(name string, of SeriesColumn) {
		out[name] = map[uint32]string{}
		for i, value := range of.Values {
			if place := of.Place(value); place != i {
				t.Errorf("value %d, %s, of %s is found at %d", i, value, name, place)
			}
			for _, series := range of.Series[i] {
				out[name][series] = value
			}
		}
	})
	return out
}

// The columns of series are those of their tuples at any time, and a result does not change
// later.
func TestSeriesColumns(t *testing.T) {
	s := mustSchema(t, everything(0))
	g := NewGeneration(1)
	rng := rand.New(rand.NewPCG(1, 0))
	type held struct {
		columns *SeriesColumns
		want    map[string]map[uint32]string
	}
	var all []held
	for round := range 30 {
		addSeries(t, s, g, rng, rng.IntN(20))
		before, size := g.columns.latest.Load(), g.Size()
		asked := -1
		columns, kept := g.SeriesColumns(s, func(bytes int) bool {
			asked = bytes
			return rng.IntN(3) > 0
		})
		if columns.Len() != g.Series.Len() {
			t.Errorf("round %d: %d series of %d", round, columns.Len(), g.Series.Len())
		}
		if grown := g.Size() - size; kept && (grown <= 0 || grown > asked) || !kept && grown != 0 {
			t.Errorf("round %d: the generation grew by %d bytes, asked for at most %d, kept: %t", round, grown, asked, kept)
		}
		if latest := g.columns.latest.Load(); kept && latest != columns || !kept && latest != before {
			t.Errorf("round %d: kept: %t, and the latest is another", round, kept)
		}
		all = append(all, held{columns, byTuple(t, s, g, columns.Len())})
		for i, h := range all {
			if diff := gocmp.Diff(h.want, byColumn(t, h.columns)); diff != "" {
				t.Fatalf("columns of round %d, in round %d (-want +got):\n%s", i, round, diff)
			}
		}
	}
	if none := all[0].columns.Column("labels.none"); len(none.Series) != 0 {
		t.Errorf("a column that nobody has: %v", none)
	}
}

// Columns, values and the series with them are each counted once.
func TestSeriesColumns_Size(t *testing.T) {
	s := mustSchema(t, everything(0))
	g := NewGeneration(1)
	add := func(labels ...schema.SeriesValue) (grown int) {
		t.Helper()
		if _, err := g.Series.Intern(s.AppendTuple(nil, labels)); err != nil {
			t.Fatal(err)
		}
		before := g.Size()
		if _, kept := g.SeriesColumns(s, func(int) bool { return true }); !kept {
			t.Error("not kept")
		}
		return g.Size() - before
	}
	pod := func(value string) schema.SeriesValue {
		return schema.SeriesValue{Column: 1, Name: "labels.pod", Value: value}
	}
	unit := schema.SeriesValue{Column: 2, Name: "unit", Value: "ns"}
	for i, test := range []struct {
		labels []schema.SeriesValue
		want   int
	}{
		{[]schema.SeriesValue{pod("a"), unit}, 2*(columnSize+valueSize+labelSize) + len("labels.pod"+"a"+"unit"+"ns")},
		{[]schema.SeriesValue{pod("bb"), unit}, valueSize + 2*labelSize + len("bb")},
		{[]schema.SeriesValue{pod("a")}, labelSize},
	} {
		if got := add(test.labels...); got != test.want {
			t.Errorf("series %d takes %d bytes, want %d", i+1, got, test.want)
		}
	}
}

// Each value is found where it is, however many share a byte of their hashes, and no other.
func TestSeriesColumn_Place(t *testing.T) {
	var of SeriesColumn
	for i := range 2000 {
		if got := of.Place(fmt.Sprint(i)); got >= 0 {
			t.Fatalf("%d values: %d is found at %d", i, i, got)
		}
		of.Values, of.tags = append(of.Values, fmt.Sprint(i)), append(of.tags, tagOf(fmt.Sprint(i)))
	}
	for i, value := range of.Values {
		if got := of.Place(value); got != i {
			t.Fatalf("%s is found at %d", value, got)
		}
	}
}

// Several ask while series come.
func TestSeriesColumns_Concurrent(t *testing.T) {
	s := mustSchema(t, everything(0))
	g := NewGeneration(1)
	var running sync.WaitGroup
	for i := range uint64(2) {
		running.Go(func() { addSeries(t, s, g, rand.New(rand.NewPCG(i, 1)), 500) })
		running.Go(func() {
			for range 200 {
				columns, _ := g.SeriesColumns(s, func(bytes int) bool { return bytes%3 > 0 })
				columns.Each(func(name string, of SeriesColumn) {
					for i, value := range of.Values {
						if place := of.Place(value); place != i {
							t.Errorf("column %s: %q is found at %d, not %d", name, value, place, i)
						}
						if series := of.Series[i]; len(series) == 0 || int(series[len(series)-1]) > columns.Len() {
							t.Errorf("column %s of %d series: %q is of %v", name, columns.Len(), value, series)
						}
					}
				})
			}
		})
	}
	running.Wait()
	columns, _ := g.SeriesColumns(s, func(int) bool { return true })
	if diff := gocmp.Diff(byTuple(t, s, g, g.Series.Len()), byColumn(t, columns)); diff != "" {
		t.Errorf("columns in the end (-want +got):\n%s", diff)
	}
}
