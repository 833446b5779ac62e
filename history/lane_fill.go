package history

import "math/bits"

// laneFill is the work of finding the states of one lane at t.
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

// within finds starts, ends and values in the tile of t.
func (f *laneFill) within(r *tileRef) {
	var tl tile
	tl.open(r)
	in, high, lows, low, base := tl.in, tl.high, tl.lows, tl.low&63, tl.base
	near := low <= 28 // two neighbours have their low bits in one word
	x := uint64(f.t - tl.base)
	if x > tl.span {
		x = 0 // it is before the base
	}
	xHigh := x >> low
	var at [laneWidth]hit
	var started, ended uint64
	n, rank, hi := 0, 0, 0
	for rest := r.mask; rest != 0; rank++ {
		slot := bits.TrailingZeros64(rest) & (laneWidth - 1)
		rest &= rest - 1
		lo := hi
		hi += tl.count(rank)
		if f.start>>slot&1 == 0 {
			continue
		}
		i := lo + bits.TrailingZeros64(atLeast(in.load(high+lo), xHigh*everyByte))>>3
		if i >= lo+8 || uint64(in[high+i]) == xHigh {
			i = tl.search(lo, hi, f.t)
		}
		i = min(i, hi)
		// Branch-free: the branches are unpredictable. Wrong starts and ends are replaced later.
		if near {
			bit := (i - 1) * int(low)
			both := in.load(lows+bit>>3) >> (bit & 7)
			f.starts[slot] = base + int64(uint64(in[high+i-1])<<low|both&tl.lowest) + 1
			f.ends[slot] = base + int64(uint64(in[high+i])<<low|both>>low&tl.lowest)
		} else {
			f.starts[slot], f.ends[slot] = tl.end(max(1, i)-1)+1, tl.end(min(i, tl.n-1))
		}
		started |= one(i > lo) << slot
		ended |= one(i < hi) << slot
		at[n&(laneWidth-1)] = hit{uint16(slot), uint16(i)}
		n += int(one(i < hi))
	}
	f.start &^= started
	f.end &^= ended
	f.setValues(&tl, at[:n])
}

// hit is an entry of a slot in a tile.
type hit struct{ slot, entry uint16 }

// one returns 1 for true: a sum without a branch.
func one(b bool) (n uint64) {
	if b {
		n = 1
	}
	return n
}

// setValues sets the values of slots to those of their entries.
func (f *laneFill) setValues(tl *tile, at []hit) {
	c := tl.codes()
	words, has := f.words, f.has
	in, from, width, mask := c.in, c.at, c.width, ones(c.width)
	switch {
	case width > 56 || c.flags&tileDict != 0:
		for _, p := range at {
			word, null := c.value(int(p.entry))
			words[p.slot&(laneWidth-1)] = word
			has |= one(!null) << (p.slot & (laneWidth - 1))
		}
	case c.flags&tileNulls != 0:
		for _, p := range at {
			code := in.unpack(from, int(p.entry), width, mask)
			words[p.slot&(laneWidth-1)] = c.least + code - 1
			has |= one(code != 0) << (p.slot & (laneWidth - 1))
		}
	default:
		for _, p := range at {
			words[p.slot&(laneWidth-1)] = c.least + in.unpack(from, int(p.entry), width, mask)
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
		var tl tile
		tl.open(&f.s.tiles[j])
		var at [laneWidth]hit
		n := 0
		for rest := tl.mask & f.end; rest != 0; n++ {
			var slot int
			slot, rest = nextSlot(rest)
			lo, _ := tl.slot(uint(slot))
			at[n] = hit{uint16(slot), uint16(lo)}
			f.ends[slot] = tl.end(lo)
		}
		f.end &^= tl.mask
		f.setValues(&tl, at[:n])
		j++
	}
}

// earlier finds starts in the tiles up to j. A slot without one began with the history.
func (f *laneFill) earlier(j int, start int64) {
	for f.start != 0 {
		if j = f.s.before(j, f.start); j < 0 {
			break
		}
		var tl tile
		tl.open(&f.s.tiles[j])
		for rest := tl.mask & f.start; rest != 0; {
			var slot int
			slot, rest = nextSlot(rest)
			_, hi := tl.slot(uint(slot))
			f.starts[slot] = tl.end(hi-1) + 1
		}
		f.start &^= tl.mask
		j--
	}
	for rest := f.start; rest != 0; {
		var slot int
		slot, rest = nextSlot(rest)
		f.starts[slot] = start
	}
}

// clip raises starts to that of a view whose oldest tiles were dropped.
func (f *laneFill) clip(slots uint64, start int64) {
	for slots != 0 {
		var slot int
		slot, slots = nextSlot(slots)
		f.starts[slot] = max(f.starts[slot], start)
	}
}

// buffered finds starts, ends and values among the unsealed entries.
func (f *laneFill) buffered() {
	open := f.s.entriesOf()
	f.seen = open.n
	for i := range open.n {
		b := open.blocks[i/blockLen]
		slot := b.slots[i%blockLen] &^ nullEntry
		bit := uint64(1) << slot
		if f.end&bit == 0 {
			continue
		}
		end := b.at[i%blockLen].end
		if end < f.t {
			f.starts[slot] = end + 1
			f.start &^= bit
			continue
		}
		f.ends[slot], f.words[slot] = end, b.at[i%blockLen].word
		if b.slots[i%blockLen]&nullEntry == 0 {
			f.has |= bit
		}
		f.end &^= bit
	}
}
