package iceberg

import (
	"encoding/binary"
	"fmt"
)

// known are the rows of symbols that a file has. Rows are equal if all of their columns but the node and the seal are. Of locations all
// lines together are compared, because they make one location.
type known struct {
	keys   map[string]bool
	from   int // the first row in memory that was not looked at
	key    []byte
	memory int
}

func newKnown() *known { return &known{keys: map[string]bool{}} }

// dropRepeated drops the rows in memory that the file has already. Unless they are the last of a file, the last location stays, because it
// can go on.
func (r *run) dropRepeated(last bool) error {
	c, k := r.rows, r.known
	places, inlined := c.column(columnLocation), c.column(columnInlined)
	to := k.from
	for from := k.from; from < c.rows; {
		end := from + 1
		if places != nil {
			if inlined.numbers[from] > 0 {
				return fmt.Errorf("%w: lines of location %.100q are not in their order", ErrRecord, c.texts.all[places.codes[from]-1])
			}
			for end < c.rows && inlined.numbers[end] == inlined.numbers[end-1]+1 && inlined.numbers[end] > 0 && places.codes[end] == places.codes[from] {
				end++
			}
		}
		if end == c.rows && !last && places != nil { // it can go on
			c.move(to, from, end-from)
			c.truncate(to + end - from)
			k.from = to
			return nil
		}
		if k.add(c, from, end) {
			c.move(to, from, end-from)
			to += end - from
		} else {
			r.repeated += int64(end - from)
		}
		from = end
	}
	c.truncate(to)
	k.from = to
	return nil
}

// add adds rows. It reports false if they were there.
func (k *known) add(c *coded, from, to int) bool {
	k.key = k.key[:0]
	for i := range c.columns {
		of := &c.columns[i]
		if of.name == columnNode || of.name == columnSeal {
			continue
		}
		for row := from; row < to; row++ {
			if of.kind != kindNumber {
				k.key = binary.LittleEndian.AppendUint32(k.key, of.codes[row])
				continue
			}
			k.key = append(binary.LittleEndian.AppendUint64(k.key, uint64(of.numbers[row])), byte(bit(of.valid[row])))
		}
	}
	if k.keys[string(k.key)] {
		return false
	}
	k.keys[string(k.key)] = true
	k.memory += len(k.key) + textBytes
	return true
}
