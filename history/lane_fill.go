package history

import (
	"math/bits"

	"github.com/granarydb/granary/internal/tile"
)

// laneFill finds the states of one lane at t.
type laneFill struct {
	s      *sealed
	t      int64
	starts *[laneWidth]int64
	ends   *[laneWidth]int64
	words  *[laneWidth]uint64
	has    uint64
	wanted uint64 // slots to find
	start  uint64 // slots whose start is wanted
	end    uint64 // slots whose end is wanted
	seen   int    // entries that were not sealed
}

// within finds starts, ends and values in the tile that contains t.
func (f *laneFill) within(r *tile.Ref) {
	var tl tile.Tile
	tl.Open(r)
	var entries [laneWidth]uint16 // that end at or after t, by slot
	unsure := f.compare(&tl, &entries)
	for ; unsure != 0; unsure &= unsure - 1 {
		slot := bits.TrailingZeros64(unsure)
		bit := uint64(1) << slot
		lo, hi := tl.Slot(uint(slot))
		i := tl.Search(lo, hi, f.t)
		if i > lo {
			f.starts[slot] = tl.End(i-1) + 1
			f.start &^= bit
		}
		if i < hi {
			f.ends[slot] = tl.End(i)
			f.end &^= bit
		}
		entries[slot] = uint16(i)
	}
	f.setValues(&tl, r.Mask&f.wanted&^f.end, &entries)
}

// compare sets starts, ends and entries where the high bytes of a slot's first eight ends tell, and returns the
// tile's other slots. A start or an end that the tile does not have is set to a wrong time, which is replaced
// later. The loop takes most of a slice's time. It calls nothing, so that variables stay in registers, and has
// no branches that are unpredictable.
func (f *laneFill) compare(tl *tile.Tile, entries *[laneWidth]uint16) (unsure uint64) {
	in, high, lows, low, base, lowest := tl.In, tl.High, tl.Lows, tl.Low&63, tl.Base, tl.Lowest
	counts, size := tl.Head+tile.HeaderSize, 1+int(tl.Flags&tile.Wide)/tile.Wide
	ones := tile.Ones(8 * uint(size))
	x := uint64(f.t - tl.Base)
	if x > tl.Span {
		x = 0 // t is before the base
	}
	x = x >> low * tile.EveryByte
	starts, ends, wanted := f.starts, f.ends, f.wanted
	var started, ended uint64
	hi := 0
	for rest := tl.Mask; rest != 0; {
		slot := bits.TrailingZeros64(rest) & (laneWidth - 1)
		rest &= rest - 1
		lo := hi
		hi += int(in.Load(counts) & ones)
		counts += size
		if wanted>>slot&1 == 0 {
			continue
		}
		atLeast := tile.AtLeast(in.Load(high+lo), x)
		i := lo + bits.TrailingZeros64(atLeast)>>3
		i = hi + (i-hi)&((i-hi)>>63) // the lesser, which min finds with a branch
		two := in.Load(high + i - 1)
		if atLeast == 0 || byte(two>>8) == byte(x) {
			unsure |= 1 << slot
			continue
		}
		bit := uint(i-1) * low
		start := in.Load(lows+int(bit)>>3) >> (bit & 7)
		end := start >> low
		if low > 28 { // two neighbours' low bits are not in one word
			bit += low
			end = in.Load(lows+int(bit)>>3) >> (bit & 7)
		}
		starts[slot] = base + int64(two&255<<low|start&lowest) + 1
		ends[slot] = base + int64(two>>8&255<<low|end&lowest)
		started |= uint64(lo-i) >> 63 << slot
		ended |= uint64(i-hi) >> 63 << slot
		entries[slot] = uint16(i)
	}
	f.start &^= started
	f.end &^= ended
	return unsure
}

// setValues sets the values of slots from their entries.
func (f *laneFill) setValues(tl *tile.Tile, slots uint64, entries *[laneWidth]uint16) {
	c := tl.Codes()
	words, has := f.words, f.has
	in, from, width, mask := c.In, c.At, c.Width, tile.Ones(c.Width)
	switch {
	case c.Flags&tile.Dictionary != 0 && c.Words <= 56:
		first := uint64(c.Flags&tile.Nulls) / tile.Nulls // least code of a value
		long := tile.Ones(c.Words)
		for ; slots != 0; slots &= slots - 1 {
			slot := bits.TrailingZeros64(slots) & (laneWidth - 1)
			code := in.Unpack(from, int(entries[slot]), width, mask)
			has |= tile.One(code >= first) << slot
			words[slot] = c.Least + in.Unpack(c.Dict, int(code-min(code, first)), c.Words, long)
		}
	case width > 56 || c.Flags&tile.Dictionary != 0:
		for ; slots != 0; slots &= slots - 1 {
			slot := bits.TrailingZeros64(slots) & (laneWidth - 1)
			word, null := c.Value(int(entries[slot]))
			words[slot] = word
			has |= tile.One(!null) << slot
		}
	case c.Flags&tile.Nulls != 0:
		for ; slots != 0; slots &= slots - 1 {
			slot := bits.TrailingZeros64(slots) & (laneWidth - 1)
			code := in.Unpack(from, int(entries[slot]), width, mask)
			words[slot] = c.Least + code - 1
			has |= tile.One(code != 0) << slot
		}
	default:
		has |= slots
		for ; slots != 0; slots &= slots - 1 {
			slot := bits.TrailingZeros64(slots) & (laneWidth - 1)
			words[slot] = c.Least + in.Unpack(from, int(entries[slot]), width, mask)
		}
	}
	f.has = has
}

// later finds ends in the tiles from j on.
func (f *laneFill) later(j int) {
	for f.end != 0 {
		if j = f.s.after(j, f.end); j == len(f.s.tiles) {
			return
		}
		var tl tile.Tile
		tl.Open(&f.s.tiles[j])
		var entries [laneWidth]uint16
		for rest := tl.Mask & f.end; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros64(rest)
			lo, _ := tl.Slot(uint(slot))
			entries[slot] = uint16(lo)
			f.ends[slot] = tl.End(lo)
		}
		f.setValues(&tl, tl.Mask&f.end, &entries)
		f.end &^= tl.Mask
		j++
	}
}

// earlier finds starts in the tiles up to j. A slot without a start began with the history.
func (f *laneFill) earlier(j int, start int64) {
	for f.start != 0 {
		if j = f.s.before(j, f.start); j < 0 {
			break
		}
		var tl tile.Tile
		tl.Open(&f.s.tiles[j])
		for rest := tl.Mask & f.start; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros64(rest)
			_, hi := tl.Slot(uint(slot))
			f.starts[slot] = tl.End(hi-1) + 1
		}
		f.start &^= tl.Mask
		j--
	}
	for rest := f.start; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		f.starts[slot] = start
	}
}

// clip raises starts to the view's start, because the view's oldest tiles may be dropped.
func (f *laneFill) clip(slots uint64, start int64) {
	for ; slots != 0; slots &= slots - 1 {
		slot := bits.TrailingZeros64(slots)
		f.starts[slot] = max(f.starts[slot], start)
	}
}

// buffered finds starts, ends and values among the unsealed entries.
func (f *laneFill) buffered() {
	open := f.s.entriesOf()
	f.seen = open.n
	for i := range open.n {
		b := open.blocks[i/blockLen]
		slot := b.slots[i%blockLen] &^ tile.Null
		bit := uint64(1) << slot
		if f.end&bit == 0 {
			continue
		}
		end := b.at[i%blockLen].End
		if end < f.t {
			f.starts[slot] = end + 1
			f.start &^= bit
			continue
		}
		f.ends[slot], f.words[slot] = end, b.at[i%blockLen].Word
		if b.slots[i%blockLen]&tile.Null == 0 {
			f.has |= bit
		}
		f.end &^= bit
	}
}
