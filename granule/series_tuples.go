package granule

import (
	"encoding/binary"
	"slices"
)

// allTuples is a result of SeriesColumns.AllTuples.
type allTuples struct {
	columns []string
	tuples  [][]string
}

// maxTuples bounds the number of tuples that are kept. A tuple takes 16 bytes per column.
const maxTuples = 128

// AllTuples returns the Tuples of all series. It keeps the last result unless it is large; a repeated call
// then costs nothing. The result must not be changed.
func (c *SeriesColumns) AllTuples(columns []string) [][]string {
	if last := c.all.Load(); last != nil && slices.Equal(last.columns, columns) {
		return last.tuples
	}
	tuples := c.Tuples(columns, func(f func(series uint32)) {
		for code := range c.len {
			f(uint32(code + 1))
		}
	})
	if len(tuples) <= maxTuples {
		c.all.Store(&allTuples{slices.Clone(columns), tuples})
	}
	return tuples
}

// Tuples returns the distinct combinations of values in columns, with "" for a missing value. each calls its
// argument with the code of each series to include. Tuples costs about 20 ns per series.
func (c *SeriesColumns) Tuples(columns []string, each func(f func(series uint32))) [][]string {
	codes := make([][]uint32, len(columns)) // by column and series: the value's index plus 1, or 0 if the series has none
	for i, column := range columns {
		of := c.Column(column)
		codes[i] = make([]uint32, c.Len()+1)
		for value := range of.Values {
			for _, series := range of.Series[value] {
				codes[i][series] = uint32(value + 1)
			}
		}
	}
	var tuples [][]string
	seen := map[string]bool{}
	var key []byte
	each(func(series uint32) {
		key = key[:0]
		for i := range columns {
			key = binary.LittleEndian.AppendUint32(key, codes[i][series])
		}
		if seen[string(key)] {
			return
		}
		seen[string(key)] = true
		tuple := make([]string, len(columns))
		for i, column := range columns {
			if code := codes[i][series]; code > 0 {
				tuple[i] = c.Column(column).Values[code-1]
			}
		}
		tuples = append(tuples, tuple)
	})
	return tuples
}
