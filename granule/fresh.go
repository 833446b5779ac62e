package granule

import (
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// freshBuilder makes fresh parts from a frame's rows. Columns are packed, all bits in one allocation,
// because they are soon rewritten. Builders are reused.
type freshBuilder struct {
	gather  gatherer
	frames  [1]*frame
	keys    []uint64
	order   []rowRef   // rows in key order, computed when a column needs them
	pending [][]uint64 // words to pack
	places  []freshPlace
	packed  []encoding.Words
}

// freshPlace maps a column of the part to its pending words.
type freshPlace struct {
	column, words int
	valid         int    // 0: no null flags
	ids           []byte // not nil: the values of a plain column of UUIDs
}

// build makes a part from the rows of keys, in their order.
func (b *freshBuilder) build(f *frame, keys []uint64, mem *slab) *Part {
	p := newPart(len(f.columns))
	p.gen, p.bucket, p.rows = f.gen, f.bucket, len(keys)
	b.frames[0], b.keys = f, keys
	b.gather.frames, b.gather.order, b.gather.mem = b.frames[:], nil, mem
	b.pending, b.places = b.pending[:0], b.places[:0]
	code, one := oneSeries(f, keys)
	if one {
		p.series = encoding.Constant(uint64(code), len(keys))
	} else {
		series := mem.room(len(keys))
		for _, key := range keys {
			series = append(series, uint64(f.series[rowOf(key)]))
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
		spec := f.gen.spec(f.schema.Columns()[c.Index])
		if at.ids != nil {
			c.Column = encoding.PackedIDs(spec, b.packed[at.words], at.ids)
			continue
		}
		c.Column = encoding.NewColumn(spec, b.packed[at.words], present)
	}
	clear(b.packed) // the part owns them now
	p.seal(f.schema)
	return p
}

// done drops the references to the input of the builder.
func (b *freshBuilder) done() {
	b.frames[0], b.keys, b.gather.mem = nil, nil, nil
	clear(b.gather.sources)
	clear(b.pending[:cap(b.pending)]) // entries of earlier parts can lie past the length
	clear(b.places[:cap(b.places)])
}

// oneSeries returns the series of sorted rows, if they share it.
func oneSeries(f *frame, keys []uint64) (code uint32, one bool) {
	if len(keys) == 0 {
		return 0, true
	}
	first, last := f.series[rowOf(keys[0])], f.series[rowOf(keys[len(keys)-1])]
	return first, first == last
}

// add adds a column of the frame if a row has a value in it.
func (b *freshBuilder) add(p *Part, f *frame, fc *frameColumn) {
	def := f.schema.Columns()[fc.column]
	spec, key := f.gen.spec(def), columnKey{fc.column, fc.name}
	if fc.ids != nil {
		b.addIDs(p, fc)
		return
	}
	if IsWide(def) || fc.plain {
		spec.Encoding = encoding.Plain
		b.findOrder()
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
	c, found := b.column(fc, f, key, spec)
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

// addIDs adds a plain column of UUIDs if a row has a value in it. A loop that only copies the ids keeps many
// cache misses in flight, which matters because the ids are scattered over the batch.
func (b *freshBuilder) addIDs(p *Part, fc *frameColumn) {
	mask := -1
	if fc.constant {
		mask = 0
	}
	ordinals, n := b.gather.mem.room(len(b.keys))[:len(b.keys)], 0
	for i, key := range b.keys {
		ordinals[i] = 0
		if fc.words[rowOf(key)&mask] != 0 {
			n++
			ordinals[i] = uint64(n)
		}
	}
	if n == 0 {
		return
	}
	ids := make([]byte, n*len(uuid.UUID{}))
	rest := ids
	for _, key := range b.keys {
		if word := fc.words[rowOf(key)&mask]; word != 0 {
			*(*uuid.UUID)(rest) = fc.ids[word-1]
			rest = rest[len(uuid.UUID{}):]
		}
	}
	b.places = append(b.places, freshPlace{column: len(p.columns), words: len(b.pending), ids: ids})
	b.pending = append(b.pending, ordinals)
	p.columns = append(p.columns, Column{Index: fc.column, Name: fc.name})
}

// column collects a column of the frame in the order of the part. found is false if no row has a value in
// it.
func (b *freshBuilder) column(fc *frameColumn, f *frame, key columnKey, spec encoding.Spec) (out gathered, found bool) {
	if fc.valid != nil {
		b.findOrder()
		return b.gather.gather(key, spec)
	}
	words := b.gather.mem.room(len(b.keys))[:len(b.keys)]
	all := uint64(0)
	if f.keyed && spec.Type == encoding.UUIDList && fc == f.leadingLists() {
		for i, key := range b.keys {
			all = key >> 32 // the keys ascend
			words[i] = all
		}
	} else {
		for i, key := range b.keys {
			w := fc.words[rowOf(key)]
			words[i] = w
			all |= w
		}
	}
	return gathered{spec: spec, words: words}, spec.Type.Fixed() || all != 0
}

// findOrder gives the gatherer the order of the rows.
func (b *freshBuilder) findOrder() {
	if b.gather.order != nil {
		return
	}
	b.order = b.order[:0]
	for _, key := range b.keys {
		b.order = append(b.order, rowRef{row: int32(rowOf(key))})
	}
	b.gather.order = b.order
}
