package encoding

import (
	"math"
	"math/bits"
)

// Words adds words to the image. It panics for a lookup whose ordinals were not added with Ordinals.
func (w *ImageWriter) Words(words *Words) {
	if words.n == 0 {
		words = &Words{layout: layoutPacked}
	}
	w.Uint(uint64(words.layout))
	switch words.layout {
	case layoutPlain, layoutPacked:
		w.packed(&words.packed)
	case layoutRuns:
		r := words.form.runs
		w.Uint(uint64(r.ends.n))
		w.Words(&r.values)
		w.packed(&r.ends)
	case layoutSparse:
		w.putWords(words.form.sparse.bitmap)
		w.Words(&words.form.sparse.kept)
	case layoutLookup:
		if words.form.lookup.ordinals != w.ordinals {
			panic("encoding: a lookup with ordinals of its own in an image")
		}
		w.Words(&words.form.lookup.table)
	default:
		w.blocks(words.form.blocks)
	}
}

// Words reads n words and checks that each is in [least, most]; bounds that include every word cost
// nothing. Errors name the words `what`.
//
// It costs 0.1 to 0.5 ns per word, and 2 ns per run. A block of 128 words costs 0.3 to 2 ns more per word if
// its widths and sums do not show that it is within the bounds.
func (r *ImageReader) Words(what string, n int, least, most uint64) Words {
	r.In(what)
	words := r.anyWords(uint64(n))
	if r.Err() == nil && !words.within(least, most) {
		r.In(what)
		r.Failf("not all words are %d to %d", least, most)
		return Words{}
	}
	return words
}

// Ordinals adds the ordinals of the lookups that follow.
func (w *ImageWriter) Ordinals(ordinals *Words) {
	w.Words(ordinals)
	w.ordinals = ordinals
}

// Ordinals reads n ordinals for lookups whose tables have `headers` headers, at least 1.
func (r *ImageReader) Ordinals(n, headers int) *Words {
	r.ordinals = nil // ordinals are no lookup
	ordinals := r.Words("ordinals", n, 0, uint64(headers-1))
	r.ordinals, r.headers = &ordinals, headers
	return r.ordinals
}

// anyWords reads n words in any layout.
func (r *ImageReader) anyWords(n uint64) Words {
	switch l := r.layout(layoutLookup, n); l {
	case layoutRuns:
		return r.runs(n)
	case layoutSparse:
		return r.sparse(n)
	case layoutLookup:
		if r.ordinals == nil || uint64(r.ordinals.n) != n {
			r.Failf("a lookup of %d words has no ordinals", n)
			return Words{}
		}
		ordinals := r.ordinals
		r.ordinals = nil // a table is no lookup
		table := r.anyWords(uint64(r.headers))
		r.ordinals = ordinals
		return Lookup(table, ordinals)
	default:
		return r.flat(l, n)
	}
}

// flatWords reads n words in a layout that occurs inside others.
func (r *ImageReader) flatWords(n uint64) Words {
	l := r.layout(layoutSliced, n)
	if l == layoutRuns {
		r.Failf("layout %v inside of another", l)
		return Words{}
	}
	return r.flat(l, n)
}

// layout reads the layout of n words, at most `last`.
func (r *ImageReader) layout(last layout, n uint64) layout {
	l := layout(r.Uint("layout", uint64(last)))
	if n == 0 && l != layoutPacked {
		r.Failf("no words are in layout %v", l)
	}
	return l
}

func (r *ImageReader) flat(l layout, n uint64) Words {
	if l >= layoutBlocks {
		return r.blocks(order(l-layoutBlocks), n)
	}
	p := r.packed("packed", n)
	if l == layoutPlain && p.width != 64 {
		r.Failf("layout %v of width %d", l, p.width)
	}
	return Words{layout: l, n: uint32(n), packed: p}
}

// packed adds packed numbers. The reader knows their number.
func (w *ImageWriter) packed(p *packed) {
	scaled := min(p.scale, 2) / 2
	w.Uint(uint64(p.width)<<1 | scaled)
	w.Int(p.min)
	if scaled > 0 {
		w.Uint(p.scale)
	}
	if p.width > 0 {
		w.putWords(p.bits[:packedLen(int(p.n), int(p.width))])
	}
}

func (r *ImageReader) packed(what string, n uint64) packed {
	r.In(what)
	head := r.Uint("width", 64<<1|1)
	p := packed{n: uint32(n), width: uint8(head >> 1), min: r.Int("reference")}
	if head&1 > 0 {
		if p.scale = r.Uint("scale", 1<<64-1); p.scale < 2 {
			r.Failf("a scale of %d is not written", p.scale)
		}
	}
	if n == 0 && p.width > 0 {
		r.Failf("no words have a width of %d", p.width)
	}
	if p.width > 0 {
		p.bits = r.bits("bits", (n*uint64(p.width)+63)/64)
	}
	return p
}

func (r *ImageReader) runs(n uint64) Words {
	r.In("runs")
	k := r.Uint("runs", n)
	out := &runs{values: r.flatWords(k), ends: r.packed("ends", k)}
	if r.Err() != nil {
		return Words{}
	}
	last := uint64(0)
	var buf [blockLen]uint64
	for lo := 0; lo < int(k); lo += blockLen {
		for _, end := range out.ends.appendTo(buf[:0], lo, min(lo+blockLen, int(k))) {
			if end <= last {
				r.Failf("a run ends at row %d, and the one before at %d", end, last)
				return Words{}
			}
			last = end
		}
	}
	if last != n {
		r.Failf("the last run ends at row %d of %d", last, n)
	}
	return Words{layout: layoutRuns, n: uint32(n), form: &form{runs: out}}
}

// sparse reads sparse words. Their number, and the ranks, are derived from the bitmap.
func (r *ImageReader) sparse(n uint64) Words {
	r.In("sparse")
	out := &sparse{bitmap: r.words("bitmap", (n+63)/64)}
	if r.Err() != nil {
		return Words{}
	}
	out.ranks = make([]uint32, 0, (n+rankEvery-1)/rankEvery)
	kept := 0
	for i, word := range out.bitmap {
		if i%(rankEvery/64) == 0 {
			out.ranks = append(out.ranks, uint32(kept))
		}
		kept += bits.OnesCount64(word)
	}
	if n%64 > 0 && out.bitmap[n/64]>>(n%64) != 0 {
		r.Failf("the bitmap of %d words has bits behind them", n)
		return Words{}
	}
	out.kept = r.flatWords(uint64(kept))
	return Words{layout: layoutSparse, n: uint32(n), form: &form{sparse: out}}
}

// skipWords reads past the fields of n absent words, which are not a lookup.
func (r *ImageReader) skipWords(n uint64) {
	switch l := r.layout(layoutSparse, n); l {
	case layoutRuns:
		k := r.Uint("runs", n)
		r.skipFlat(r.layout(layoutSliced, k))
		r.skipPacked()
	case layoutSparse: // its bitmap shows how many words follow
		r.skipFlat(r.layout(layoutSliced, n))
	default:
		r.skipFlat(l)
	}
}

func (r *ImageReader) skipFlat(l layout) {
	switch {
	case l == layoutRuns:
		r.Failf("layout %v inside of another", l)
		return
	case l < layoutRuns:
		r.skipPacked()
		return
	}
	r.In("blocks")
	b := blocks{order: order(l - layoutBlocks)}
	r.Int("low")
	r.Uint("scale", math.MaxUint64)
	if b.order == rises {
		r.Uint("bound", 64)
	}
	for range b.numbersOf() {
		r.skipPacked()
	}
}

func (r *ImageReader) skipPacked() {
	r.In("packed")
	head := r.Uint("width", 64<<1|1)
	r.Int("reference")
	if head&1 > 0 {
		r.Uint("scale", math.MaxUint64)
	}
}
