package granule

import (
	"slices"
	"testing"
)

// A builder that is kept holds nothing of any of the parts that it made: not of those, either,
// that had more columns than the last one.
func TestFreshBuilder_Done(t *testing.T) {
	b := freshBuilder{
		places:  []freshPlace{{ids: []byte{1}}, {ids: []byte{2}}, {ids: []byte{3}}},
		pending: [][]uint64{{1}, {2}, {3}},
	}
	b.places, b.pending = b.places[:1], b.pending[:1] // of the last part
	b.done()
	if slices.ContainsFunc(b.places[:3], func(p freshPlace) bool { return p.ids != nil }) {
		t.Error("ids are held")
	}
	if slices.ContainsFunc(b.pending[:3], func(words []uint64) bool { return words != nil }) {
		t.Error("words are held")
	}
}
