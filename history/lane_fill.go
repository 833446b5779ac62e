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
	start  uint64 // slots whose start is wanted
	end    uint64 // slots whose end is wanted
	seen   int    // entries that were not sealed
}

// within finds starts, ends and values in the tile that contains t.
func (f *laneFill) within(r *tile.Ref) {
	var tl tile.Tile
	tl.Open(r)
	in, high, lows, low, base := tl.In, tl.High, tl.Lows, tl.Low&63, tl.Base
	near := low <= 28 // two neighbours' low bits are in one word
	x := uint64(f.t - tl.Base)
	if x > tl.Span {
		x = 0 // t is before the base
	}
	xHigh := x >> low
	var at [laneWidth]hit
	var started, ended uint64
	n, rank, hi := 0, 0, 0
	for rest := r.Mask; rest != 0; rank++ {
		slot := bits.TrailingZeros64(rest) & (laneWidth - 1)
		rest &= rest - 1
		lo := hi
		hi += tl.Count(rank)
		if f.start>>slot&1 == 0 {
			continue
		}
		i := lo + bits.TrailingZeros64(tile.AtLeast(in.Load(high+lo), xHigh*tile.EveryByte))>>3
		if i >= lo+8 || uint64(in[high+i]) == xHigh {
			i = tl.Search(lo, hi, f.t)
		}
		i = min(i, hi)
		// Branch-free, because the branches are unpredictable. Wrong starts and ends are replaced
		// later.
		if near {
			bit := (i - 1) * int(low)
			both := in.Load(lows+bit>>3) >> (bit & 7)
			f.starts[slot] = base + int64(uint64(in[high+i-1])<<low|both&tl.Lowest) + 1
			f.ends[slot] = base + int64(uint64(in[high+i])<<low|both>>low&tl.Lowest)
		} else {
			f.starts[slot], f.ends[slot] = tl.End(max(1, i)-1)+1, tl.End(min(i, tl.N-1))
		}
		started |= tile.One(i > lo) << slot
		ended |= tile.One(i < hi) << slot
		at[n&(laneWidth-1)] = hit{uint16(slot), uint16(i)}
		n += int(tile.One(i < hi))
	}
	f.start &^= started
	f.end &^= ended
	f.setValues(&tl, at[:n])
}

// hit is a slot's entry in a tile.
type hit struct{ slot, entry uint16 }

// setValues sets the values of slots from their entries.
func (f *laneFill) setValues(tl *tile.Tile, at []hit) {
	c := tl.Codes()
	words, has := f.words, f.has
	in, from, width, mask := c.In, c.At, c.Width, tile.Ones(c.Width)
	switch {
	case width > 56 || c.Flags&tile.Dictionary != 0:
		for _, p := range at {
			word, null := c.Value(int(p.entry))
			words[p.slot&(laneWidth-1)] = word
			has |= tile.One(!null) << (p.slot & (laneWidth - 1))
		}
	case c.Flags&tile.Nulls != 0:
		for _, p := range at {
			code := in.Unpack(from, int(p.entry), width, mask)
			words[p.slot&(laneWidth-1)] = c.Least + code - 1
			has |= tile.One(code != 0) << (p.slot & (laneWidth - 1))
		}
	default:
		for _, p := range at {
			words[p.slot&(laneWidth-1)] = c.Least + in.Unpack(from, int(p.entry), width, mask)
			has |= 1 << (p.slot & (laneWidth - 1))
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
		var at [laneWidth]hit
		n := 0
		for rest := tl.Mask & f.end; rest != 0; rest, n = rest&(rest-1), n+1 {
			slot := bits.TrailingZeros64(rest)
			lo, _ := tl.Slot(uint(slot))
			at[n] = hit{uint16(slot), uint16(lo)}
			f.ends[slot] = tl.End(lo)
		}
		f.end &^= tl.Mask
		f.setValues(&tl, at[:n])
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
