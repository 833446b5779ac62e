package filter

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
)

// TestSelection_Picked holds rows that were picked to the same rows as spans.
func TestSelection_Picked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n, share := 1+rng.IntN(2000), 1+rng.IntN(300)
		words := make([]uint64, n)
		for i := range words {
			words[i] = uint64(i * i)
		}
		coded := encoding.Encode(encoding.Plain, words)
		var spans, picked Selection
		for row := range int32(n) {
			if rng.IntN(share) == 0 {
				series := uint32(row / 100)
				spans.Spans = append(spans.Spans, SeriesSpan{row, row + 1, series, false})
				picked.Rows++
				if row%7 == 0 { // beside picks
					picked.Spans = append(picked.Spans, SeriesSpan{row, row + 1, series, false})
					continue
				}
				at := int32(len(picked.picked))
				picked.picked, picked.Spans = append(picked.picked, row), append(picked.Spans, SeriesSpan{at, at + 1, series, true})
			}
		}
		spans.Rows = len(spans.Spans)
		for spans.Rows > 0 {
			if got, want := picked.Words(nil, &coded), spans.Words(nil, &coded); !slices.Equal(got, want) || len(got) != spans.Rows {
				t.Fatalf("%d of %d rows: %v, want %v", spans.Rows, n, got, want)
			}
			rows := spans.AppendRows(nil)
			if got := picked.AppendRows(nil); !slices.Equal(got, rows) {
				t.Fatalf("rows %v, want %v", got, rows)
			}
			if alone := SelectRows(nil, 7, rows); !slices.Equal(alone.Words(nil, &coded), spans.Words(nil, &coded)) || alone.Rows != spans.Rows {
				t.Fatalf("selected rows %v are others", rows)
			}
			most := 1 + rng.IntN(spans.Rows)
			head, tail := spans.Split(most)
			pickedHead, pickedTail := picked.Split(most)
			if got, want := pickedHead.Words(nil, &coded), head.Words(nil, &coded); !slices.Equal(got, want) {
				t.Fatalf("the first %d of %d rows: %v, want %v", most, n, got, want)
			}
			spans, picked = tail, pickedTail
		}
	}
}
