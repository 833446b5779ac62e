package granule

import "github.com/granarydb/granary/encoding"

// freshBuilder makes parts of rows of one frame, as they were inserted: the columns
// in the packed layout, all bits in one allocation. They are soon rewritten. It is
// kept to be used again.
type freshBuilder struct {
	gather  gatherer
	frames  [1]*frame
	pending [][]uint64 // what is to be packed
	places  []freshPlace
	packed  []encoding.Words
}

// freshPlace says which of the pending words a column of the part is made of.
type freshPlace struct{ column, words, valid int } // valid 0: none

func (b *freshBuilder) build(f *frame, order []rowRef, mem *slab) *Part {
	p := newPart(len(f.columns))
	p.gen, p.bucket, p.rows = f.gen, f.bucket, len(order)
	b.frames[0] = f
	b.gather.frames, b.gather.order, b.gather.mem = b.frames[:], order, mem
	b.pending, b.places = b.pending[:0], b.places[:0]
	code, one := oneSeries(f, order)
	if one {
		p.series = encoding.Constant(uint64(code), len(order))
	} else {
		series := mem.take(len(order))
		for _, r := range order {
			series = append(series, uint64(f.series[r.row]))
		}
		b.pending = append(b.pending, series)
	}
	for i := range f.columns {
		b.add(p, f, &f.columns[i])
	}
	b.packed = encoding.Pack(b.packed[:0], b.pending...)
	if !one {
		p.series = b.packed[0]
	}
	for _, at := range b.places {
		c := &p.columns[at.column]
		var present *encoding.Words
		if at.valid > 0 {
			words := b.packed[at.valid]
			present = &words
		}
		c.Column = encoding.NewColumn(f.gen.spec(f.schema.Columns()[c.Index]), b.packed[at.words], present)
	}
	clear(b.packed) // they belong to the part
	p.seal(f.schema)
	return p
}

// oneSeries returns the series of sorted rows, if they have one.
func oneSeries(f *frame, order []rowRef) (code uint32, one bool) {
	if len(order) == 0 {
		return 0, true
	}
	first, last := f.series[order[0].row], f.series[order[len(order)-1].row]
	return first, first == last
}

// add adds a column of the frame, if a row has a value in it.
func (b *freshBuilder) add(p *Part, f *frame, fc *frameColumn) {
	def := f.schema.Columns()[fc.column]
	spec, key := f.gen.spec(def), columnKey{fc.column, fc.name}
	if isPlainBytes(def) {
		if c, found := b.gather.gatherBytes(key, spec); found {
			p.columns = append(p.columns, Column{key.column, key.name, c})
		}
		return
	}
	if fc.constant {
		if !fc.isNull(def.Type, 0) {
			c := encoding.NewColumn(spec, encoding.Constant(fc.words[0], p.rows), nil)
			p.columns = append(p.columns, Column{key.column, key.name, c})
		}
		return
	}
	c, found := b.gather.gather(key, spec)
	if !found {
		return
	}
	at := freshPlace{column: len(p.columns), words: len(b.pending)}
	b.pending = append(b.pending, c.words)
	if c.valid != nil {
		at.valid = len(b.pending)
		b.pending = append(b.pending, c.valid)
	}
	b.places = append(b.places, at)
	p.columns = append(p.columns, Column{Index: key.column, Name: key.name})
}
