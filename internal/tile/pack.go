package tile

import "encoding/binary"

// distinct is a tile's distinct words: a small hash table that is emptied by counting up.
type distinct struct {
	words []uint64
	table [4 * Entries]struct {
		round uint32
		place uint32
	}
	round uint32
}

func (d *distinct) begin() {
	d.words = d.words[:0]
	if d.round++; d.round == 0 {
		clear(d.table[:])
		d.round = 1
	}
}

// place returns a word's index among the words, and adds it if it is new.
func (d *distinct) place(w uint64) uint32 {
	slots := uint64(len(d.table))
	for at := w * 0x9e3779b97f4a7c15 >> 40 % slots; ; at = (at + 1) % slots {
		e := &d.table[at]
		if e.round != d.round {
			e.round, e.place = d.round, uint32(len(d.words))
			d.words = append(d.words, w)
			return e.place
		}
		if d.words[e.place] == w {
			return e.place
		}
	}
}

// pack writes numbers with width bits, at most 64, end to end from offset `at` on. It returns the offset
// behind them, in whole bytes, of which up to seven from there on are zero.
func pack(b []byte, at int, numbers []uint64, width uint) int {
	if width == 0 {
		return at
	}
	if width > 56 {
		return packWide(b, at, numbers, width)
	}
	behind := at + PackedBytes(len(numbers), width)
	held, have := uint64(0), uint(0) // bits behind the last whole byte: below 8
	// Narrow numbers are put together first, because each step waits for the previous one.
	for width <= 7 && len(numbers) >= 8 {
		n := (*[8]uint64)(numbers)
		x := n[0] | n[1]<<(width&63) | (n[2]|n[3]<<(width&63))<<(2*width&63)
		y := n[4] | n[5]<<(width&63) | (n[6]|n[7]<<(width&63))<<(2*width&63)
		x |= y << (4 * width & 63)
		numbers = numbers[8:]
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += 8 * width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	for width <= 14 && len(numbers) >= 4 {
		x := numbers[0] | numbers[1]<<(width&63) | (numbers[2]|numbers[3]<<(width&63))<<(2*width&63)
		numbers = numbers[4:]
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += 4 * width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	for width > 14 && width <= 18 && len(numbers) >= 3 {
		n := (*[3]uint64)(numbers)
		x := n[0] | n[1]<<(width&63) | n[2]<<(2*width&63)
		numbers = numbers[3:]
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += 3 * width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	for width <= 28 && len(numbers) >= 2 {
		x := numbers[0] | numbers[1]<<(width&63)
		numbers = numbers[2:]
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += 2 * width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	for _, x := range numbers {
		held |= x << (have & 7)
		binary.LittleEndian.PutUint64(b[at:], held)
		have += width
		at += int(have >> 3)
		held >>= have & 0x38
		have &= 7
	}
	return behind
}

// packWide is pack for numbers that do not fit in a word behind seven bits.
func packWide(b []byte, at int, numbers []uint64, width uint) int {
	held, have := uint64(0), uint(0)
	for _, x := range numbers {
		held |= x << have
		if have += width; have < 64 {
			continue
		}
		binary.LittleEndian.PutUint64(b[at:], held)
		at += 8
		have -= 64
		held = x >> (width - have) // a shift by 64 gives 0
	}
	for ; have > 0; have -= min(have, 8) {
		b[at] = byte(held)
		held >>= 8
		at++
	}
	return at
}
