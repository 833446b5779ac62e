package encoding

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// dumper writes memory for people: a field a line, its bytes in hex and then their meaning.
// Numbers have their highest byte first.
type dumper struct {
	text   []byte
	indent int
}

// Repeated elements are shown up to these numbers; the rest is counted.
const (
	dumpedLines = 4 // 64-bit words of packed bits, or of a bitmap
	dumpedItems = 16
)

// dump writes the layout of the words and each of its fields, for people; the form may change.
// It shows the first few packed words. It allocates several times its output.
func (w *Words) dump(out io.Writer) error {
	var d dumper
	d.words(w)
	_, err := out.Write(d.text)
	return err
}

// line writes a field: its name, bytes and meaning.
func (d *dumper) line(name, bytes, meaning string, args ...any) {
	line := fmt.Sprintf("%*s%-8s %s", 2*d.indent, "", name, bytes)
	if meaning != "" {
		line = fmt.Sprintf("%-*s  ", 2*d.indent+9, line) + fmt.Sprintf(meaning, args...)
	}
	d.text = append(d.text, strings.TrimRight(line, " ")+"\n"...)
}

// word writes a field of 64 bits.
func (d *dumper) word(name string, w uint64, meaning string, args ...any) {
	d.line(name, fmt.Sprintf("%016x", w), meaning, args...)
}

// inside writes a field that has fields.
func (d *dumper) inside(name, what string, fields func()) {
	d.line(name, what, "")
	d.indent++
	fields()
	d.indent--
}

func (d *dumper) words(w *Words) {
	d.line("layout", fmt.Sprintf("%02x", uint8(w.layout)), "%v, %d bytes in all", w.layout, w.Size())
	d.line("n", fmt.Sprintf("%08x", w.n), "%d words", w.n)
	switch w.layout {
	case layoutPlain, layoutPacked:
		d.packed(&w.packed)
	case layoutRuns:
		d.runs(w.form.runs)
	case layoutSparse:
		d.sparse(w.form.sparse, int(w.n))
	case layoutLookup:
		d.inside("table", "the words that there are", func() { d.words(&w.form.lookup.table) })
		d.inside("ordinals", "of each row, which of them; shared", func() { d.words(w.form.lookup.ordinals) })
	default:
		d.blocks(w.form.blocks)
		return // the fields show the words themselves
	}
	d.line("reads", list(w.Append(nil, 0, w.Len()), signed), "")
}

// packed writes the packed words as multiples of the scale above the reference.
func (d *dumper) packed(p *packed) {
	d.word("min", p.min, "%d, the reference", int64(p.min))
	if p.scale <= 1 {
		d.word("scale", p.scale, "1")
	} else {
		d.word("scale", p.scale, "%d, of which all distances from it are multiples", p.scale)
	}
	d.line("width", fmt.Sprintf("%02x", p.width), "%d bits a word", p.width)
	if p.width > 0 {
		d.bits(p.bits[:packedLen(int(p.n), int(p.width))], int(p.n), uint(p.width), p.unscaled)
	}
}

// nested writes packed numbers inside of another layout: all that there are few of.
func (d *dumper) nested(name, what string, p *packed) {
	if p.n == 0 {
		return
	}
	d.inside(name, fmt.Sprintf("packed, %d: %s", p.n, what), func() {
		d.packed(p)
		d.line("reads", list(p.appendTo(nil, 0, int(p.n)), signed), "")
	})
}

// bits writes 64-bit words of n numbers of a width, each with the numbers that begin
// in it.
func (d *dumper) bits(bits []uint64, n int, width uint, number func(int) uint64) {
	for i, b := range bits {
		if i == dumpedLines {
			d.line("", fmt.Sprintf("and %d more", len(bits)-i), "")
			return
		}
		name := ""
		if i == 0 {
			name = "bits"
		}
		var numbers []uint64
		first := (64*i + int(width) - 1) / int(width)
		for k := first; k < n && k*int(width) < 64*(i+1); k++ {
			numbers = append(numbers, number(k))
		}
		d.word(name, b, "from %d on: %s", first, list(numbers, signed))
	}
}

func (d *dumper) runs(r *runs) {
	d.inside("values", "of each run", func() { d.words(&r.values) })
	d.nested("ends", "of each run, the row after its last one", &r.ends)
}

func (d *dumper) sparse(s *sparse, n int) {
	for i, b := range s.bitmap {
		if i == dumpedLines {
			d.line("", fmt.Sprintf("and %d more", len(s.bitmap)-i), "")
			break
		}
		var kept []uint64
		for k := 64 * i; k < min(64*(i+1), n); k++ {
			if b>>(k%64)&1 != 0 {
				kept = append(kept, uint64(k))
			}
		}
		d.word("bitmap", b, "kept are %s", list(kept, signed))
	}
	for i, rank := range s.ranks {
		d.line("rank", fmt.Sprintf("%08x", rank), "%d are kept before word %d", rank, i*rankEvery)
	}
	d.inside("kept", "the words that are not 0", func() { d.words(&s.kept) })
}

// orderMeaning is the meaning of the packed numbers of blocks, by order.
var orderMeaning = [...]string{
	"the words", "rises from the word before", "changes from the word before, zigzag",
	"changes of the change from the word before, zigzag", "the words, in slices",
}

func (d *dumper) blocks(b *blocks) {
	if b.n == 0 {
		return
	}
	d.word("low", b.low, "%d, above which words are taken", int64(b.low))
	d.word("scale", b.scale, "%d, by which they are divided", b.scale)
	d.line("order", fmt.Sprintf("%02x", uint8(b.order)), "%s", orderMeaning[b.order])
	if b.order == rises {
		d.line("bound", fmt.Sprintf("%02x", b.bound), "%d bits: rises are modulo 2^%d", b.bound, b.bound)
	}
	d.nested("firsts", "of each block, the word before it", &b.firsts)
	d.nested("seconds", "of each block, the change before it", &b.seconds)
	d.nested("bases", "of each block, the reference", &b.bases)
	d.nested("widths", "of each block", &b.widths)
	d.nested("starts", "of each block, and the end, in 64-bit words", &b.starts)
	for i := range int(b.bases.n) {
		lo, hi := i*blockLen, min((i+1)*blockLen, b.n)
		d.inside(fmt.Sprintf("block %d", i), fmt.Sprintf("words %d to %d", lo, hi-1), func() { d.block(b, i, hi-lo) })
	}
}

// block writes a block: its bits, its exceptions, and the resulting numbers.
func (d *dumper) block(b *blocks, i, n int) {
	base, width := b.bases.at(i), uint(b.widths.at(i))
	start, end := int(b.starts.at(i)), int(b.starts.at(i+1))
	d.word("base", base, "%d", int64(base))
	d.line("width", fmt.Sprintf("%02x", width), "%d bits", width)
	d.line("start", fmt.Sprintf("%08x", start), "up to %d", end)
	numbers := make([]uint64, n)
	packed := b.order.bitsLen(n, int(width))
	switch {
	case width == 0:
	case b.order == sliced:
		readSliced(numbers, b.bits[start:], int(width))
		d.slices(b.bits[start:start+packed], int(width))
	default:
		unpack(numbers, b.bits[start:], 0, width)
		d.bits(b.bits[start:start+packed], n, width, func(k int) uint64 { return numbers[k] })
	}
	d.exceptions(numbers, b.bits[start+packed:end], width)
	for k := range numbers {
		numbers[k] += base
	}
	switch b.order {
	case asIs, sliced:
	case rises:
		d.line("rises", list(numbers, signed), "")
	default:
		d.line("changes", list(numbers, func(v uint64) int64 { return int64(unzigzag(v)) }), "")
	}
	var words [blockLen]uint64
	d.line("reads", list(b.read(words[:], i), signed), "")
}

// slices writes the slices of a block.
func (d *dumper) slices(slices []uint64, width int) {
	for i, s := range slices {
		if i == 2*dumpedLines {
			d.line("", fmt.Sprintf("and %d more", len(slices)-i), "")
			return
		}
		d.word("slice", s, "bit %d of words %d to %d", i%width, i/width*64, i/width*64+63)
	}
}

// exceptions writes the exceptions of a block, and adds them to its numbers.
func (d *dumper) exceptions(numbers, exceptions []uint64, width uint) {
	for i := range 2 * len(exceptions) {
		e := exceptions[i/2] >> (i % 2 * 32) & math.MaxUint32
		place, excess := e&(blockLen-1), e>>placeBits
		if excess == 0 {
			d.line("", fmt.Sprintf("%08x", e), "half a word is left over")
			continue
		}
		numbers[place] |= excess << width
		if i < dumpedItems {
			d.line("except", fmt.Sprintf("%08x", e), "number %d has %d * 2^%d more", place, excess, width)
		} else if i == dumpedItems {
			d.line("", fmt.Sprintf("and up to %d more", 2*len(exceptions)-i), "")
		}
	}
}

func signed(v uint64) int64 { return int64(v) }

// list returns the first of some numbers as text.
func list(numbers []uint64, as func(uint64) int64) string {
	var s strings.Builder
	for i, v := range numbers {
		if i == dumpedItems {
			fmt.Fprintf(&s, " and %d more", len(numbers)-i)
			break
		}
		if i > 0 {
			s.WriteByte(' ')
		}
		fmt.Fprintf(&s, "%d", as(v))
	}
	return s.String()
}
