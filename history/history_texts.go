package history

import (
	"math/bits"

	"github.com/granarydb/granary/internal/names"
	"github.com/granarydb/granary/internal/tile"
)

// leastTexts is the size of texts below which none is dropped, because finding unused texts visits each
// interval that has a text. Tests lower it.
var leastTexts = 64 << 10

// keepTexts returns the texts that views from t on need, and the bytes that only older views will hold. The
// commit drops everything before t. It returns nil if all texts stay: if they are few, or, unless memory is
// short, if less than a quarter of the tiles went since texts were last dropped. So a quarter of the tiles
// pays for each visit of all intervals.
func (h *History) keepTexts(t int64, short bool) (next *names.Interner, bytes int) {
	if h.texts.Size() < leastTexts || h.opts.Pages != nil {
		return nil, 0
	}
	marks := textMarks{words: make([]uint64, h.texts.Most()/64+1), from: t}
	tiles, gone := 0, 0
	for _, l := range h.lanes {
		s := l.sealed.Load()
		tiles += len(s.tiles)
		gone += s.from(t)
	}
	if !short && 4*(h.gone+gone) < tiles {
		return nil, 0
	}
	for _, l := range h.lanes {
		if l.texts != 0 {
			marks.lane(l, l.slotsFrom(KindString))
		}
	}
	return h.texts.Keep(marks.words)
}

// textMarks is a bit set of the text codes that views from an instant on need.
type textMarks struct {
	words []uint64
	from  int64
}

// run marks the texts of the run's entries in slots. Codes are at most `most`.
func (m *textMarks) run(r tile.Run, slots uint64, most uint32) {
	m.grow(most)
	for i, slot := range r.Slots {
		if slot < tile.Null && slots>>slot&1 != 0 {
			m.add(r.At[i].Word)
		}
	}
}

func (m *textMarks) grow(most uint32) {
	if n := int(most/64) + 1; n > len(m.words) {
		m.words = append(m.words, make([]uint64, n-len(m.words))...)
	}
}

func (m *textMarks) add(code uint64) { m.words[code/64] |= 1 << (code % 64) }

// lane marks the texts of a lane's slots.
func (m *textMarks) lane(l *lane, slots uint64) {
	s := l.sealed.Load()
	for k := s.from(m.from); k < len(s.tiles); k++ {
		if s.tiles[k].Mask&slots != 0 {
			m.tile(&s.tiles[k], slots)
		}
	}
	if l.work == nil {
		return
	}
	for i := range l.work.entries.n {
		b := l.work.entries.blocks[i/blockLen]
		if slot := b.slots[i%blockLen]; slot < tile.Null && slots>>slot&1 != 0 && b.at[i%blockLen].End >= m.from {
			m.add(b.at[i%blockLen].Word)
		}
	}
	for rest := l.work.has & slots; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		m.add(l.work.slots[slot].word)
	}
}

// tile marks the texts of a tile's slots.
func (m *textMarks) tile(r *tile.Ref, slots uint64) {
	var tl tile.Tile
	tl.Open(r)
	tl.EachWord(slots, m.add)
}
