package summary_test

import (
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/recorded"
)

// TestTiles counts the tiles that are decoded for an attribute of a question of one pixel. Its own intervals in them are few, however
// long the range is; an attribute of few intervals a tile has these in many tiles.
func TestTiles(t *testing.T) {
	defer summary.SetGather(1<<30, 1<<20)()
	for _, name := range recorded.Names {
		t.Run(name, func(t *testing.T) {
			_, v := setView(t, name)
			p := of(t, v)
			r := rand.New(rand.NewPCG(1, 2))
			questions, all, most, of, read, two := 0, 0, 0, 0, 0, 0
			for range 20_000 {
				q := anyQuestion(r, v, 0)
				if r.IntN(2) == 0 {
					q.from, q.to = v.Start()+r.Int64N(v.End()-v.Start())/4, v.End()-r.Int64N(v.End()-v.Start())/4
				}
				tiles, intervals, err := summary.Decoded(p, history.Attribute(r.IntN(v.Len())), q.from, q.to)
				if err != nil {
					t.Fatal(err)
				}
				questions, all, read = questions+1, all+tiles, max(read, intervals)
				if tiles > most {
					most, of = tiles, intervals
				}
				if tiles <= 2 {
					two++
				}
			}
			if all > 3*questions || two < questions*4/5 || read > 10_000 {
				t.Errorf("%d tiles for %d questions, at most two for %d; up to %d intervals", all, questions, two, read)
			}
			a := busiest(t, v, r)
			tiles, intervals, err := summary.Decoded(p, a, v.Start()+1, v.End()-1)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("tiles decoded: mean %.2f, at most 2 in %.1f %% of %d questions, most %d, of %d intervals; at most %d intervals; busiest: %d tiles, %d intervals",
				float64(all)/float64(questions), 100*float64(two)/float64(questions), questions, most, of, read, tiles, intervals)
		})
	}
}
