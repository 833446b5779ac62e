package granule

import (
	"slices"

	"github.com/granarydb/granary/encoding"
)

// gathered is one column of a part's rows.
type gathered struct {
	spec  encoding.Spec
	words []uint64
	valid []uint64 // fixed types; nil: all rows have a value
}

// gatherer collects columns from frames in the row order of the part.
type gatherer struct {
	frames []*frame
	order  []rowRef
	mem    *slab

	sources []source // by frame
}

// source is a column in one frame: the word of row r is words[r & mask].
type source struct {
	words []uint64
	mask  int
	fc    *frameColumn // nil: the frame lacks the column, and words is one 0
}

var noWord = []uint64{0}

// gather collects a column. found is false if no row has a value in it. Columns of plain strings or UUIDs
// need gatherBytes.
func (g *gatherer) gather(key columnKey, spec encoding.Spec) (out gathered, found bool) {
	out.spec = spec
	nulls := false // rows of a fixed type can be null
	g.sources = g.sources[:0]
	for _, f := range g.frames {
		s := source{words: noWord, fc: f.find(key)}
		if s.fc != nil {
			s.words = s.fc.words
			if !s.fc.constant {
				s.mask = -1
			}
		}
		if spec.Type.Fixed() && (s.fc == nil || s.fc.valid != nil) {
			nulls = true
		}
		g.sources = append(g.sources, s)
	}
	out.words = g.mem.room(len(g.order))[:len(g.order)]
	if nulls {
		found = g.gatherNulls(&out)
		return out, found
	}
	var all uint64
	for i, r := range g.order {
		s := &g.sources[r.frame]
		w := s.words[int(r.row)&s.mask]
		out.words[i] = w
		all |= w
	}
	return out, spec.Type.Fixed() || all != 0
}

// gatherNulls is gather for a column of a fixed type in which rows can be null.
func (g *gatherer) gatherNulls(out *gathered) (found bool) {
	nulls := false
	valid := g.mem.room(len(g.order))[:len(g.order)]
	for i, r := range g.order {
		fc := g.sources[r.frame].fc
		out.words[i], valid[i] = 0, 0
		if fc == nil || fc.isNull(out.spec.Type, int(r.row)) {
			nulls = true
			continue
		}
		out.words[i], valid[i] = fc.word(int(r.row)), 1
		found = true
	}
	if nulls {
		out.valid = valid
	}
	return found
}

// isPlain reports whether a frame stores the strings of a column, and not all of them are in the dictionary.
func (g *gatherer) isPlain(key columnKey) bool {
	return slices.ContainsFunc(g.frames, func(f *frame) bool {
		fc := f.find(key)
		return fc != nil && fc.plain
	})
}

// gatherBytes builds a column of plain strings or UUIDs. found is false if no row has a value in it.
func (g *gatherer) gatherBytes(key columnKey, spec encoding.Spec) (c encoding.Column, found bool) {
	sources := make([]*frameColumn, len(g.frames))
	for i, f := range g.frames {
		sources[i] = f.find(key)
	}
	if spec.Type == encoding.UUID {
		return g.gatherIDs(sources, spec)
	}
	b := encoding.NewBuilder(spec, len(g.order))
	for _, r := range g.order {
		fc := sources[r.frame]
		if fc == nil || fc.isNull(spec.Type, int(r.row)) {
			b.Null()
			continue
		}
		found = true
		b.Bytes(fc.bytes(fc.word(int(r.row))))
	}
	if !found {
		return c, false
	}
	return b.Build(), true
}

// gatherIDs is gatherBytes for UUIDs.
func (g *gatherer) gatherIDs(sources []*frameColumn, spec encoding.Spec) (c encoding.Column, found bool) {
	words := g.mem.room(len(g.order))[:len(g.order)]
	n := 0
	for i, r := range g.order {
		words[i] = 0
		if fc := sources[r.frame]; fc != nil && !fc.isNull(spec.Type, int(r.row)) {
			n++
			words[i] = uint64(n)
		}
	}
	if n == 0 {
		return c, false
	}
	const id = 16
	data := make([]byte, 0, id*n)
	for i, r := range g.order {
		if words[i] != 0 {
			fc := sources[r.frame]
			data = append(data, fc.bytes(fc.word(int(r.row)))...)
		}
	}
	return encoding.NewIDs(spec, words, data), true
}

// buildBase makes a part from the merged rows [lo, hi), each column in its smallest layout. It omits
// columns without a value.
func buildBase(m *merged, lo, hi int) *Part {
	f := m.frames[0]
	p := &Part{gen: f.gen, bucket: f.bucket, rows: hi - lo}
	mark := m.mem.used
	p.series = encoding.Encode(encoding.DictionaryRLE, m.seriesWords(lo, hi))
	ordinals, table := m.header(lo, hi)
	p.ordinals = ordinals
	g := gatherer{frames: m.frames, order: m.order[lo:hi], mem: m.mem}
	for _, key := range m.columns {
		m.pause.did(hi - lo)
		def := f.schema.Columns()[key.column]
		spec := f.gen.spec(def)
		column, found := encoding.Column{}, true
		if words, ok := table[key.column]; ok {
			column = headerColumn(spec, words, ordinals, hi-lo)
		} else if IsWide(def) || def.Type == encoding.String && g.isPlain(key) {
			spec.Encoding = encoding.Plain
			column, found = g.gatherBytes(key, spec)
			m.mem.used = mark
		} else {
			var c gathered
			if c, found = g.gather(key, spec); found {
				column = encodeColumn(c, def.Encoding)
			}
			m.mem.used = mark
		}
		if found {
			p.columns = append(p.columns, Column{key.column, key.name, column})
		}
	}
	p.seal(f.schema)
	return p
}

// headerColumn makes a column from a header's words.
func headerColumn(spec encoding.Spec, table []uint64, ordinals *encoding.Words, rows int) encoding.Column {
	words := encoding.Encode(spec.Encoding, table)
	if word, ok := words.Constant(); ok {
		return encoding.NewColumn(spec, encoding.Constant(word, rows), nil)
	}
	return encoding.NewColumn(spec, encoding.Lookup(words, ordinals), nil)
}

func encodeColumn(c gathered, e encoding.Encoding) encoding.Column {
	var present *encoding.Words
	if c.valid != nil {
		words := encoding.Encode(encoding.RLE, c.valid)
		present = &words
	}
	return encoding.NewColumn(c.spec, encoding.Encode(e, c.words), present)
}
