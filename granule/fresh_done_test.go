package granule

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// A builder that is kept holds nothing of any of the parts that it made: not of those, either,
// that had more columns than the last one.
func TestFreshBuilder_Done(t *testing.T) {
	b := freshBuilder{
		places:  []freshPlace{{ids: []byte{1}}, {ids: []byte{2}}, {ids: []byte{3}}},
		pending: [][]uint64{{1}, {2}, {3}},
		keys:    []uint64{1},
		frames:  [1]*frame{{}},
		gather:  gatherer{mem: new(slab), sources: []source{{fc: &frameColumn{}}}},
	}
	b.places, b.pending = b.places[:1], b.pending[:1] // of the last part
	b.done()
	if slices.ContainsFunc(b.places[:3], func(p freshPlace) bool { return p.ids != nil }) {
		t.Error("ids are held")
	}
	if slices.ContainsFunc(b.pending[:3], func(words []uint64) bool { return words != nil }) {
		t.Error("words are held")
	}
	if b.frames[0] != nil || b.keys != nil || b.gather.mem != nil || b.gather.sources[0].fc != nil {
		t.Error("the input is held")
	}
}

// The rows of a batch that are given back hold nothing of it, nor of its parts.
func TestRows_Done(t *testing.T) {
	s := mustSchema(t, everything(0))
	b := fixedBatch(rand.New(rand.NewPCG(1, 59)), everything(0))
	rows := codeAll(t, s, NewGeneration(1), b)
	rows.Part(0, rows.Len())
	for _, words := range rows.fresh.packed {
		if words.Len() != 0 {
			t.Error("the builder holds words of a part")
		}
	}
	columns, lists := rows.frame.columns, rows.coder.lists
	rows.Done()
	if rows.keys != nil || rows.frame.gen != nil || rows.frame.schema != nil || rows.mem.used != 0 || rows.coder.batch != nil || rows.coder.gen != nil {
		t.Error("the batch, its keys or its memory are held")
	}
	for _, c := range columns {
		if c.words != nil || c.ids != nil || c.bytes != nil {
			t.Errorf("column %q is held", c.name)
		}
	}
	if slices.ContainsFunc(lists, func(list []uuid.UUID) bool { return list != nil }) {
		t.Error("lists are held")
	}
}
