package query

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/order"
)

// However rows are divided among aggregators, and in whatever order, the merged cell has the
// same result; for floats, to the last bit of a well-conditioned sum.
func TestFolder_Merge(t *testing.T) {
	dict := &queryDicts{seed: 1}
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64, encoding.String}).Draw(t, "type")
		ops := []AggregateOp{Sum, Mean, Min, Max, Count}
		word := rapid.Uint64()
		switch typ {
		case encoding.Float64:
			word = rapid.Map(rapid.Float64Range(1e-3, 1e6), encoding.FromFloat64)
		case encoding.String:
			ops = ops[2:]
			word = rapid.Custom(func(t *rapid.T) uint64 {
				code, err := dict.strings().Intern([]byte(rapid.StringN(1, 3, 3).Draw(t, "text")))
				if err != nil {
					t.Fatal(err)
				}
				return uint64(code)
			})
		}
		op := rapid.SampledFrom(ops).Draw(t, "op")
		words := rapid.SliceOfN(word, 1, 200).Draw(t, "words")
		m := &measure{Aggregate: Aggregate{Op: op}, typ: typ, input: &byColumn{typ: typ}, groupFold: newGroupFold(op, typ, dict)}
		if op == Mean {
			m.typ = encoding.Float64
		}
		fold := func(words []uint64) (c [1]cell) {
			words = slices.Clone(words)
			if m.ordered {
				order.Words(typ, words)
			}
			m.fold(c[:], make([]int32, len(words)), words)
			return c
		}
		whole := fold(words)
		want, errWant := m.word(&whole[0])
		shuffled := rapid.Permutation(words).Draw(t, "order")
		merged := new(cell)
		for len(shuffled) > 0 {
			n := rapid.IntRange(0, len(shuffled)).Draw(t, "n") // 0: a group without values
			part := fold(shuffled[:n])
			m.merge(merged, &part[0])
			shuffled = shuffled[n:]
		}
		got, err := m.word(merged)
		if (err == nil) != (errWant == nil) || cmp.Compare(got, want) != 0 {
			t.Fatalf("%v of %v: %x, %v in parts, and %x, %v at once", op, typ, got, err, want, errWant)
		}
	})
}
