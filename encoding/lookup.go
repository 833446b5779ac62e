package encoding

// lookup is words that other words say: word i is table word ordinals[i]. Several
// columns that change together share their ordinals: the times and durations of
// profiles, of which many rows have the same.
type lookup struct {
	table    Words
	ordinals *Words
}

func (l *lookup) at(i int) uint64 { return l.table.At(int(l.ordinals.At(i))) }

// decode returns the table as a slice: one allocation.
func (l *lookup) decode() []uint64 {
	return l.table.Append(make([]uint64, 0, l.table.Len()), 0, l.table.Len())
}

// appendTo decodes a table that lies in blocks, unless to read a block of it for each
// row is less.
func (l *lookup) appendTo(dst []uint64, lo, hi int) []uint64 {
	start := len(dst)
	dst = l.ordinals.Append(dst, lo, hi)
	if l.table.form == nil || (hi-lo)*blockLen < l.table.Len() {
		for i, ordinal := range dst[start:] {
			dst[start+i] = l.table.At(int(ordinal))
		}
		return dst
	}
	table := l.decode()
	for i, ordinal := range dst[start:] {
		dst[start+i] = table[ordinal]
	}
	return dst
}

// size does not count the ordinals, which are shared.
func (l *lookup) size() int {
	const self = 72
	return self + l.table.Size()
}

// Lookup returns words that are those of table with the given ordinals, each below
// table's length. Both are shared, ordinals by as many as there are: what holds them
// counts their bytes.
func Lookup(table Words, ordinals *Words) Words {
	return Words{layout: LayoutLookup, n: ordinals.n, form: &form{lookup: &lookup{table, ordinals}}}
}

// Lookup returns the parts of words in the lookup layout, nil of others.
func (w *Words) Lookup() (table, ordinals *Words) {
	if w.layout != LayoutLookup {
		return nil, nil
	}
	return &w.form.lookup.table, w.form.lookup.ordinals
}
