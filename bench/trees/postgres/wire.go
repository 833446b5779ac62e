package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/bench/trees/block"
)

// Types of PostgreSQL that questions name.
const (
	oidInt8 = 20
	oidInt4 = 23
)

var big = binary.BigEndian

// list returns an array in the binary format.
func list[T int32 | int64](of []T, oid uint32) []byte {
	size := 4
	if oid == oidInt8 {
		size = 8
	}
	b := make([]byte, 0, 20+len(of)*(4+size))
	for _, v := range []uint32{1, 0, oid, uint32(len(of)), 1} { // dimensions, no nulls, type, length, first index
		b = big.AppendUint32(b, v)
	}
	for _, v := range of {
		b = big.AppendUint32(b, uint32(size))
		if size == 8 {
			b = big.AppendUint64(b, uint64(v))
		} else {
			b = big.AppendUint32(b, uint32(v))
		}
	}
	return b
}

func keyArgument(v uint32) []byte { return big.AppendUint32(nil, v) }
func timeArgument(v int64) []byte { return big.AppendUint64(nil, uint64(v)) }

// rows is the binary format of COPY, made as it is read.
type rows struct {
	layout *Layout
	order  []*block.Interval
	b      []byte // what is made and not read
	at     int
	ended  bool
}

const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

func newRows(layout *Layout, order []*block.Interval) *rows {
	return &rows{layout: layout, order: order, b: []byte(copyHeader)}
}

// Read makes rows of about 64 KiB at a time.
func (r *rows) Read(to []byte) (int, error) {
	if r.at == len(r.b) {
		if r.ended {
			return 0, io.EOF
		}
		r.fill()
	}
	n := copy(to, r.b[r.at:])
	r.at += n
	return n, nil
}

func (r *rows) fill() {
	r.b, r.at = r.b[:0], 0
	n := 0
	for n < len(r.order) && len(r.b) < 64<<10 {
		r.b = r.layout.row(r.b, r.order[n])
		n++
	}
	if r.order = r.order[n:]; len(r.order) == 0 {
		r.b = append(r.b, 0xff, 0xff) // the end
		r.ended = true
	}
}

// endField puts the length of the last field, which begins at a place for it.
func endField(b []byte, at int) []byte {
	big.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendValue appends the fields word and text, one of which is null, or both.
func appendValue(b []byte, in *block.Interval) []byte {
	const null = 0xffffffff
	switch in.Kind {
	case block.Null:
		return big.AppendUint32(big.AppendUint32(b, null), null)
	case block.String:
		b = big.AppendUint32(b, null)
		return append(big.AppendUint32(b, uint32(len(in.Text))), in.Text...)
	}
	b = big.AppendUint64(big.AppendUint32(b, 8), in.Word)
	return big.AppendUint32(b, null)
}

// rangeRow is the row (attribute, kind, range, word, text).
func rangeRow(b []byte, in *block.Interval) []byte {
	b = big.AppendUint16(b, 5)
	b = appendKey(b, in)
	at := len(b)
	b = append(b, 0, 0, 0, 0, 0x02) // the lower end is part of the range, the upper is not
	b = big.AppendUint64(big.AppendUint32(b, 8), uint64(in.Start))
	b = big.AppendUint64(big.AppendUint32(b, 8), uint64(in.End+1))
	return appendValue(endField(b, at), in)
}

// endsRow is the row (attribute, kind, start, end, word, text).
func endsRow(b []byte, in *block.Interval) []byte {
	b = big.AppendUint16(b, 6)
	b = appendKey(b, in)
	b = big.AppendUint64(big.AppendUint32(b, 8), uint64(in.Start))
	b = big.AppendUint64(big.AppendUint32(b, 8), uint64(in.End))
	return appendValue(b, in)
}

func appendKey(b []byte, in *block.Interval) []byte {
	b = big.AppendUint32(big.AppendUint32(b, 4), in.Key)
	return big.AppendUint16(big.AppendUint32(b, 2), uint16(in.Kind))
}

var errRow = errors.New("postgres: row of another form")

// interval reads a row of an answer: (attribute, kind, start, end, word, text). Its text is
// part of the row.
func interval(row [][]byte) (in block.Interval, err error) {
	if len(row) != 6 {
		return in, fmt.Errorf("%w: %d columns", errRow, len(row))
	}
	for i, size := range []int{4, 2, 8, 8} {
		if len(row[i]) != size {
			return in, fmt.Errorf("%w: column %d has %d bytes, want %d", errRow, i, len(row[i]), size)
		}
	}
	in = block.Interval{
		Key: big.Uint32(row[0]), Kind: block.Kind(big.Uint16(row[1])),
		Start: int64(big.Uint64(row[2])), End: int64(big.Uint64(row[3])), Text: row[5],
	}
	if len(row[4]) == 8 {
		in.Word = big.Uint64(row[4])
	}
	return in, nil
}
