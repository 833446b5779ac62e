package schema

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// KeyText returns the values in a key of this schema as text for people, in key order: the start of the
// time bucket, then `name="value"`, `name=12`, `name=null`, and `name=#7` for a list, by its code. Absent
// labels are left out. A key may end anywhere, as bounds do: "…" marks a value or a name that ends early.
// Bytes that are not a key are shown in hex.
func (s *Schema) KeyText(key string) []string {
	r := keyReader{key: []byte(key)}
	if s.BucketColumn() >= 0 {
		r.bucket()
	}
	for _, columns := range [][]int{s.Series(), s.Suffix()} {
		for _, i := range columns {
			r.column(s.Columns()[i], i == s.BucketColumn())
		}
	}
	r.rest()
	return r.values
}

// earlyEnd marks a value that ends early.
const earlyEnd = "…"

// keyReader reads a key, or a prefix of one, as text for people. It never fails: it shows
// bytes that it cannot read in hex.
type keyReader struct {
	key    []byte // the unread rest
	values []string
}

func (r *keyReader) add(format string, args ...any) {
	r.values = append(r.values, fmt.Sprintf(format, args...))
}

// rest shows the bytes after the point at which reading stopped.
func (r *keyReader) rest() {
	if len(r.key) > 0 {
		r.add("%#x", r.key)
		r.key = nil
	}
}

func (r *keyReader) bucket() {
	if word, ok := r.word(8); ok {
		r.add("%s", timeText(int64(word^1<<63)))
		return
	}
	r.add("%#x"+earlyEnd, r.key)
	r.key = nil
}

// column reads a fixed column's value, or all of a family.
func (r *keyReader) column(c Column, isTime bool) {
	for len(r.key) > 0 {
		switch {
		case r.key[0] == tagNull:
			if !c.Dynamic {
				r.add("%s=null", c.Name)
			}
			r.key = r.key[1:]
			return
		case r.key[0] != tagValue:
			r.rest()
			return
		}
		r.key = r.key[1:]
		name := c.Name
		if c.Dynamic {
			var whole bool
			if name, whole = r.name(); !whole {
				r.add("%s"+earlyEnd, cmp.Or(name, c.Name+"."))
				return
			}
		}
		r.value(name, c.Type, isTime)
		if !c.Dynamic {
			return
		}
	}
}

// value reads the value after a column's tag or name.
func (r *keyReader) value(name string, t encoding.Type, isTime bool) {
	if len(r.key) == 0 {
		r.add("%s="+earlyEnd, name)
		return
	}
	if t == encoding.String || t == encoding.UUID {
		value, mark := r.bytes()
		if t == encoding.String {
			r.add("%s=%q%s", name, value, mark)
		} else if id, err := uuid.FromBytes(value); err == nil {
			r.add("%s=%v%s", name, id, mark)
		} else {
			r.add("%s=%#x%s", name, value, mark)
		}
		return
	}
	width := 8
	if t == encoding.UUIDList {
		width = 4
	}
	word, ok := r.word(width)
	if !ok {
		r.add("%s=%#x"+earlyEnd, name, r.key)
		r.key = nil
		return
	}
	r.add("%s=%s", name, wordText(word, t, isTime))
}

// word reads a big-endian integer, unless it ends early.
func (r *keyReader) word(width int) (word uint64, ok bool) {
	if len(r.key) < width {
		return 0, false
	}
	var buf [8]byte
	copy(buf[8-width:], r.key)
	r.key = r.key[width:]
	return binary.BigEndian.Uint64(buf[:]), true
}

// name reads a concrete dynamic column's name, whose bits are flipped.
func (r *keyReader) name() (name string, whole bool) {
	flipped, rest, whole := bytes.Cut(r.key, []byte{endName})
	r.key = rest
	out := make([]byte, len(flipped))
	for i, b := range flipped {
		out[i] = ^b
	}
	return strings.ToValidUTF8(string(out), "\ufffd"), whole
}

// bytes reads a string or a UUID, in which 0 is escaped, and the mark of an early end.
func (r *keyReader) bytes() (value []byte, mark string) {
	for {
		i := bytes.IndexByte(r.key, 0)
		if i < 0 || i+1 == len(r.key) {
			value = append(value, bytes.TrimSuffix(r.key, []byte{0})...)
			r.key = nil
			return value, earlyEnd
		}
		value = append(value, r.key[:i]...)
		escape := r.key[i+1]
		r.key = r.key[i+2:]
		if escape == 0 {
			return value, ""
		}
		value = append(value, 0)
	}
}

// wordText is the inverse of AppendWord, as text.
func wordText(word uint64, t encoding.Type, isTime bool) string {
	switch {
	case isTime:
		return timeText(int64(word ^ 1<<63))
	case t == encoding.Int64:
		return strconv.FormatInt(int64(word^1<<63), 10)
	case t == encoding.Float64:
		if word>>63 == 1 {
			word &^= 1 << 63
		} else {
			word = ^word
		}
		return strconv.FormatFloat(math.Float64frombits(word), 'g', -1, 64)
	case t == encoding.Bool:
		return strconv.FormatBool(word != 0)
	case t == encoding.UUIDList:
		return "#" + strconv.FormatUint(word, 10)
	default:
		return strconv.FormatUint(word, 10)
	}
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }
