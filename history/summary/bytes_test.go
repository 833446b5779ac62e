package summary_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/effort"
)

// TestBytes bounds the bytes of nodes for histories whose intervals take few bytes, or whose nodes take many.
func TestBytes(t *testing.T) {
	effort.Long(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func(at int64) history.Value{
		"bools":   func(at int64) history.Value { return history.Bool(at%2 == 0) },
		"counter": func(at int64) history.Value { return history.Int(at) },
		"states":  func(int64) history.Value { return history.Int(rng.Int64N(16)) },
		"wide":    func(int64) history.Value { return history.Int(int64(rng.Uint64N(16)) << 60) },
		"floats":  func(int64) history.Value { return history.Float(float64(rng.IntN(16)) / 3) },
		"numbers": func(int64) history.Value { return history.Float(rng.Float64()) },
		"texts":   func(int64) history.Value { return history.String("s" + strconv.Itoa(rng.IntN(15))) },
	} {
		for _, attributes := range []int{1, 70} {
			h, err := history.New(history.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w, err := h.Begin()
			if err != nil {
				t.Fatal(err)
			}
			for at := range int64(150_000) {
				a, err := w.Child(history.Top, strconv.Itoa(rng.IntN(attributes)))
				if err == nil {
					err = w.Change(at, a, value(at))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(150_000); err != nil {
				t.Fatal(err)
			}
			v, err := w.Commit()
			if err != nil {
				t.Fatal(err)
			}
			p := of(t, v)
			nodes, _ := summary.Nodes(p)
			t.Logf("%s of %d attributes: %d nodes, %.2f %% of %d bytes", name, attributes, nodes, 100*float64(p.Size())/float64(h.Size()), h.Size())
			if 20*p.Size() > h.Size() || nodes == 0 && attributes == 1 {
				t.Errorf("%s of %d attributes: %d nodes take %d bytes, the history %d", name, attributes, nodes, p.Size(), h.Size())
			}
		}
	}
}
