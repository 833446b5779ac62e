package encoding

// lookup refers to a table: word i is table word ordinals[i]. Columns that change together share their
// ordinals, because many rows of profiles have the same time and duration.
type lookup struct {
	table    Words
	ordinals *Words
}

func (l *lookup) at(i int) uint64 { return l.table.At(int(l.ordinals.At(i))) }

// decode returns the table as a slice, in one allocation.
func (l *lookup) decode() []uint64 {
	return l.table.Append(make([]uint64, 0, l.table.Len()), 0, l.table.Len())
}

// appendTo decodes the whole table if it is in blocks, unless reading a block for each row costs less.
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

// Lookup returns the words of table at the given ordinals, each below the length of table. The result shares
// both. Any number of columns may share ordinals; the owner of the ordinals accounts for their bytes.
func Lookup(table Words, ordinals *Words) Words {
	return Words{layout: layoutLookup, n: ordinals.n, form: &form{lookup: &lookup{table, ordinals}}}
}

// Lookup returns the table and ordinals of words in the lookup layout, or nil for other layouts.
func (w *Words) Lookup() (table, ordinals *Words) {
	if w.layout != layoutLookup {
		return nil, nil
	}
	return &w.form.lookup.table, w.form.lookup.ordinals
}
