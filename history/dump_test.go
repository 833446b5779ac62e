package history

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/granarydb/granary/internal/tile"
)

// DescribeLanes describes the lanes of a history for scripts: the attributes, the tiles, and
// the unsealed entries.
func DescribeLanes(h *History) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	names := h.view().Names
	for i, l := range h.lanes {
		var slots []string
		for a := range names.Len() {
			if at := int(h.slots[a].Load()) - 1; at >= 0 && at/laneWidth == i {
				path, _ := names.Path(Attribute(a))
				slots = append(slots, fmt.Sprintf("%d %s", at%laneWidth, PathText(path)))
			}
		}
		add("lane %d: slots %s", i, strings.Join(slots, ", "))
		s := l.sealed.Load()
		for k := range s.tiles {
			var t tile.Tile
			t.Open(&s.tiles[k])
			add("  tile %d: %d entries of slots %s, the last end %d, %d bits an end, %d bits a value",
				k, t.N, slotsOf(t.Mask), s.tiles[k].Last, t.Ends, t.Code)
		}
		if s.open != nil && s.open.n.Load() > 0 {
			n := int(s.open.n.Load())
			last := s.open.blocks[(n-1)/blockLen].at[(n-1)%blockLen]
			add("  not sealed: %d entries, the latest end %d", n, last.End)
		}
	}
	return lines
}

// slotsOf lists the slots of a mask.
func slotsOf(mask uint64) string {
	var slots []string
	for ; mask != 0; mask &= mask - 1 {
		slot := bits.TrailingZeros64(mask)
		slots = append(slots, fmt.Sprint(slot))
	}
	return strings.Join(slots, " ")
}

// dumper writes the bytes of a tile in hex, eight a line, with a note on each field.
type dumper struct {
	t     *tile.Tile
	at    int // from the header
	lines []string
}

func (d *dumper) field(n int, format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	for first := true; n > 0; first = false {
		step := min(n, 8)
		from := d.t.Head + d.at
		line := fmt.Sprintf("+%-3d %-23s  %s", d.at, fmt.Sprintf("% x", d.t.In[from:from+step]), note)
		d.lines = append(d.lines, strings.TrimRight(line, " "))
		d.at, n = d.at+step, n-step
		if first {
			note = ""
		}
	}
}

// DumpTile returns the bytes of a tile with notes, as the package comment draws them, and then
// its decoded entries.
func DumpTile(h *History, lane, index int) []string {
	s := h.lanes[lane].sealed.Load()
	var t tile.Tile
	t.Open(&s.tiles[index])
	d := dumper{t: &t}
	dictionary, nulls := t.Flags&tile.Dictionary != 0, t.Flags&tile.Nulls != 0
	d.lines = append(d.lines, fmt.Sprintf("directory: slots %s, %d entries, last end %d; %d bits an end, %d a code; dictionary %v, nulls %v",
		slotsOf(t.Mask), t.N, s.tiles[index].Last, t.Ends, t.Code, dictionary, nulls))
	least := t.In.Load(t.Head + tile.HeadLeast)
	words := int(binary.LittleEndian.Uint16(t.In[t.Head+tile.HeadWords:]))
	d.field(8, "least word %d", int64(least))
	d.field(2, "%d words in the dictionary", words)
	for rank := range bits.OnesCount64(t.Mask) {
		n := 1
		if t.Flags&tile.Wide != 0 {
			n = 2
		}
		d.field(n, "entries of the %s slot: %d", []string{"first", "next"}[min(rank, 1)], t.Count(rank))
	}
	d.field(t.N, "high byte of each end, from base %d on", t.Base)
	low := make([]uint64, t.N)
	for i := range low {
		low[i] = t.Ordinal(i) & t.Lowest
	}
	d.field(tile.PackedBytes(t.N, t.Low), "%d low bits of each end: %d", t.Low, low)
	c := t.Codes()
	if dictionary {
		numbers := make([]uint64, words)
		for i := range numbers {
			numbers[i] = t.In.UnpackWide(c.Dict, i, c.Words)
		}
		d.field(tile.PackedBytes(words, c.Words), "%d bits of each word of the dictionary, less the least: %d", c.Words, numbers)
	}
	codes := make([]uint64, t.N)
	for i := range codes {
		codes[i] = t.In.UnpackWide(c.At, i, c.Width)
	}
	d.field(tile.PackedBytes(t.N, c.Width), "%d bits of each code: %d", c.Width, codes)
	return append(d.lines, entriesOf(h, lane, &t)...)
}

// entriesOf reads the entries of a tile, slot by slot.
func entriesOf(h *History, lane int, t *tile.Tile) (lines []string) {
	for mask := t.Mask; mask != 0; mask &= mask - 1 {
		slot := bits.TrailingZeros64(mask)
		line := fmt.Sprintf("slot %d:", slot)
		for i, hi := t.Slot(uint(slot)); i < hi; i++ {
			value := Value{}
			if word, null := t.Value(i); !null {
				value = valueOfWord(&h.texts.Texts, h.lanes[lane].kinds[slot], word)
			}
			line += fmt.Sprintf(" %v until %d", value, t.End(i))
			if i < hi-1 {
				line += ","
			}
		}
		lines = append(lines, line)
	}
	return lines
}
