package tile

import (
	"encoding/binary"
	"math/bits"
)

// EachWord calls add with each word in slots. A word can come more than once.
func (t *Tile) EachWord(slots uint64, add func(word uint64)) {
	c := t.Codes()
	if t.Mask&^slots == 0 && c.Flags&Dictionary != 0 { // no other word is in the dictionary
		for i := range int(binary.LittleEndian.Uint16(t.In[t.Head+HeadWords:])) {
			add(c.Least + c.In.UnpackWide(c.Dict, i, c.Words))
		}
		return
	}
	hi := 0
	for rest, rank := t.Mask, 0; rest != 0; rest, rank = rest&(rest-1), rank+1 {
		lo := hi
		hi += t.Count(rank)
		if slots>>bits.TrailingZeros64(rest)&1 == 0 {
			continue
		}
		for i := lo; i < hi; i++ {
			if word, null := c.Value(i); !null {
				add(word)
			}
		}
	}
}

// EndsFrom writes the ends of the entries [lo, hi) to into, each minus from, which must not be after any of
// them.
func (t *Tile) EndsFrom(from int64, lo, hi int, into []uint64) {
	base, in := uint64(t.Base-from), t.In
	into = into[:hi-lo]
	if t.Low == 0 {
		for i := range into {
			into[i] = base + uint64(in[t.High+lo+i])
		}
		return
	}
	high, low, lowest, bit := t.High+lo, t.Low, t.Lowest, t.Lows*8+lo*int(t.Low)
	for i := range into {
		into[i] = base + (uint64(in[(high+i)&(ChunkBytes-1)])<<low | in.Load(bit>>3)>>(bit&7)&lowest)
		bit += int(low)
	}
}

// ValuesOf writes the words of the entries [lo, hi) to words, 0 for null. It returns nulls, with true for
// null, or nil if none is null.
func (c *Coded) ValuesOf(lo, hi int, words []uint64, nulls []bool) []bool {
	words = words[:hi-lo]
	flags := c.Flags & (Nulls | Dictionary)
	if c.Width == 0 && flags == 0 {
		for i := range words {
			words[i] = c.Least
		}
		return nil
	}
	if c.Width > 8 || flags == Dictionary|Nulls {
		return c.valuesOf(lo, words, nulls)
	}
	// Each load of eight bytes has seven codes, behind up to seven bits of others.
	codes, width, mask, bit := words, c.Width, Ones(c.Width), c.At*8+lo*int(c.Width)
	for len(codes) >= 7 {
		x := c.In.Load(bit>>3) >> (bit & 7)
		for i := range codes[:7] {
			codes[i] = x & mask
			x >>= width & 63
		}
		bit += 7 * int(width)
		codes = codes[7:]
	}
	x := c.In.Load(bit>>3) >> (bit & 7)
	for i := range codes {
		codes[i] = x & mask
		x >>= width & 63
	}
	switch flags {
	case 0:
		for i := range words {
			words[i] += c.Least
		}
		return nil
	case Dictionary:
		for i := range words {
			words[i] = c.Least + c.In.UnpackWide(c.Dict, int(words[i]), c.Words)
		}
		return nil
	}
	nulls, some := nulls[:len(words)], uint64(0)
	for i, code := range words {
		null := One(code == 0)
		some |= null
		nulls[i] = code == 0
		words[i] = (c.Least + code - 1) & (null - 1)
	}
	if some == 0 {
		return nil
	}
	return nulls
}

// valuesOf is ValuesOf for any codes.
func (c *Coded) valuesOf(lo int, words []uint64, nulls []bool) []bool {
	some := false
	for i := range words {
		word, null := c.Value(lo + i)
		some = some || null
		words[i], nulls[i] = word, null
	}
	if !some {
		return nil
	}
	return nulls[:len(words)]
}
