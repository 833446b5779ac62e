package history

import (
	"encoding/binary"
	"math/bits"

	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/names"
)

// journal encodes the operations of a transaction in order, for History.Replay. Failed operations are left
// out. docs/format/log.md draws the bytes.
type journal struct {
	ops       []byte
	attribute Attribute // of the last operation
	at        int64     // instant of the last operation
	numbers   *numbers
	closedAt  *int64 // the writer closes the history
	given     bool   // Journal returned it
}

// numbers are the texts' numbers in a history's journals. They begin anew when texts are dropped, because
// codes then change their meaning.
type numbers struct {
	names.TextNumbers
	begun bool  // a committed journal began them
	floor int64 // drops up to here are in committed journals
}

// The first byte of an operation has the kind of its value, opAdd, and in the upper half a small value, or
// smallMore, to which a following number is added.
const (
	opKind    = 7
	opAdd     = 8
	opSmall   = 4
	smallMore = 15
)

const (
	// opBytes bounds the bytes of an operation without a text.
	opBytes = 1 + 3*binary.MaxVarintLen64
	// keptOps bounds the memory that a history keeps for the next journal.
	keptOps = 64 << 10
)

// reserveOps makes room in the journal, if there is one, for n operations and their texts, so that they
// cannot fail for lack of memory. Intervals that follow one another (addNext) do not call it, because Add
// reserves their operations with each block of entries.
func (w *Writer) reserveOps(n, text int) error {
	j := w.journal
	if j == nil || cap(j.ops)-len(j.ops) >= n*opBytes+text {
		return nil
	}
	size := max(512, 2*cap(j.ops), len(j.ops)+n*opBytes+text)
	if err := w.reserve(int64(size)); err != nil {
		return err
	}
	j.ops = append(make([]byte, 0, size), j.ops...)
	return nil
}

// add records an operation that was done. word is the word of v.
func (j *journal) add(op byte, a Attribute, at int64, v *Value, word uint64) {
	small, isNew := word, false // for a bool
	switch v.kind {
	case KindNull:
		small = 0
	case KindInt:
		word = fields.Zigzag(word)
		small = min(word, smallMore)
	case KindFloat:
		small = uint64(8 - bits.TrailingZeros64(word)/8) // number of its bytes that follow
	case KindString, KindBytes:
		word, isNew = j.numbers.Of(uint32(word))
		small = min(word, smallMore)
	}
	n := len(j.ops)
	if cap(j.ops)-n < opBytes { // Add reserved the memory
		j.ops = append(make([]byte, 0, max(512, 2*cap(j.ops))), j.ops...)
	}
	b := j.ops[:n+opBytes]
	b[n] = op | byte(v.kind) | byte(small)<<opSmall
	n = fields.PutUint(b, n+1, fields.Zigzag(uint64(int64(a)-int64(j.attribute))))
	n = fields.PutUint(b, n, fields.Zigzag(uint64(at-j.at)))
	if v.kind == KindFloat {
		var all [8]byte
		binary.BigEndian.PutUint64(all[:], word)
		n += copy(b[n:], all[:small])
	} else if small == smallMore {
		n = fields.PutUint(b, n, word-smallMore)
	}
	b = b[:n]
	if isNew {
		b = binary.AppendUvarint(b, uint64(len(v.text)))
		b = append(b, v.text...)
	}
	j.ops, j.attribute, j.at = b, a, at
}

// The flags that a journal begins with.
const (
	journalBegins = 1 << iota // numbers of texts begin anew
	journalDrops              // intervals that ended before an instant are dropped
	journalCloses             // the history is closed
	journalFlags  = 1<<iota - 1
)

// Journal returns the transaction's writes and drops as bytes for Replay. Call it after Prepare. It
// returns nil if the transaction has no effect, or without Options.Journal. Drops by BeginDrop are in the
// next journal. Journal costs a copy of 4 to 6 bytes an operation. The bytes belong to the caller, and have no
// meaning if the transaction is aborted.
func (d *Draft) Journal() []byte {
	j, h := d.journal, d.h
	if j == nil || d.ended {
		return nil
	}
	floor, drops := d.cut()
	if !drops {
		floor = h.start
	}
	flags := uint64(0)
	if floor > j.numbers.floor {
		flags |= journalDrops
	}
	if j.closedAt != nil {
		flags |= journalCloses
	}
	if flags == 0 && d.Len() == d.names && len(j.ops) == 0 {
		return nil
	}
	if !j.numbers.begun {
		flags |= journalBegins
	}
	j.given = true
	w := fields.Writer{Data: make([]byte, 0, 4*binary.MaxVarintLen64+len(j.ops))}
	w.Uint(flags)
	if flags&journalDrops != 0 {
		w.Int(uint64(floor))
	}
	if flags&journalCloses != 0 {
		w.Int(uint64(*j.closedAt))
	}
	w.Uint(uint64(d.Len() - d.names))
	for a := d.names; a < d.Len(); a++ {
		parent, _ := d.Parent(Attribute(a)) // a is an attribute
		name, _ := d.Name(Attribute(a))
		w.Uint(uint64(uint32(a) - uint32(parent))) // for Top: 1 and the number
		w.Text(name)
	}
	w.Raw(j.ops)
	return w.Data
}

// publish commits the numbers that the journal gave to texts.
func (j *journal) publish(floor int64) {
	j.numbers.Commit()
	if j.given {
		j.numbers.begun, j.numbers.floor = true, max(j.numbers.floor, floor)
	}
}
