package arrowconv

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// stateWords has values of one width in bits, or nulls, in the buffers of an Arrow array.
type stateWords struct {
	width    int // 1, 32 or 64
	n        int
	data     buffer
	validity validity
}

func newStateWords(mem memory.Allocator, width int) stateWords {
	w := stateWords{width: width, data: buffer{mem: mem}}
	w.validity.bits.mem = mem
	return w
}

// grow makes room for n more values and returns the bytes of all values. New bits are 0.
func (w *stateWords) grow(n int) []byte {
	w.n += n
	more := w.data.grow(int(bitutil.BytesForBits(int64(w.n*w.width))) - w.data.n)
	if w.width == 1 {
		clear(more)
	}
	return w.data.bytes()
}

func (w *stateWords) append32(values ...uint32) {
	copy(arrow.Uint32Traits.CastFromBytes(w.grow(len(values)))[w.n-len(values):], values)
}

func (w *stateWords) append64(values []int64) {
	copy(arrow.Int64Traits.CastFromBytes(w.grow(len(values)))[w.n-len(values):], values)
}

func (w *stateWords) appendBools(values []bool) {
	at := w.n
	bits := w.grow(len(values))
	for i, v := range values {
		if v {
			bitutil.SetBit(bits, at+i)
		}
	}
}

// appendKind appends the words of rows with the kind, and null for other rows.
func (w *stateWords) appendKind(kind uint8, kinds []uint8, words []uint64) {
	for lo := 0; lo < len(kinds); {
		hi, is := lo+1, kinds[lo] == kind
		for hi < len(kinds) && (kinds[hi] == kind) == is {
			hi++
		}
		w.appendRun(words[lo:hi], is)
		lo = hi
	}
}

// appendRun appends words that are all valid or all null.
func (w *stateWords) appendRun(words []uint64, valid bool) {
	at := w.n
	data := w.grow(len(words))
	switch {
	case w.width == 1 && valid:
		for i, word := range words {
			if word != 0 {
				bitutil.SetBit(data, at+i)
			}
		}
	case valid:
		copy(arrow.Uint64Traits.CastFromBytes(data)[at:], words)
	case w.width > 1:
		clear(data[at*w.width/8:])
	}
	if !valid {
		w.validity.null(at, len(words))
	}
}

// take hands over the values. The caller releases the result.
func (w *stateWords) take(typ arrow.DataType) *array.Data {
	n := w.n
	w.n = 0
	bits, nulls := w.validity.take(n)
	return newData(typ, n, nulls, bits, w.data.take())
}

func (w *stateWords) reset() {
	w.n = 0
	w.data.release()
	w.validity.release()
}

// stateTexts has texts, or nulls, in the buffers of an Arrow array: plain, or coded as indexes of a
// dictionary that has each text once, in order of first use.
type stateTexts struct {
	coded    bool
	n        int
	validity validity
	values   values
	indexes  buffer // if coded

	codes pages[localCode] // codes of the dictionary
	epoch uint32           // epoch of the valid entries of codes
}

func newStateTexts(mem memory.Allocator, coded bool) stateTexts {
	t := stateTexts{
		coded: coded, values: newValues(mem, &Field{Type: encoding.String}), indexes: buffer{mem: mem}, epoch: 1,
	}
	t.validity.bits.mem = mem
	return t
}

// add appends a text with its code. A dictionary calls text once for each code.
func (t *stateTexts) add(code uint32, text func() []byte) error {
	t.n++
	if !t.coded {
		return t.value(text())
	}
	known := t.codes.make(code)
	if known.epoch != t.epoch {
		*known = localCode{t.epoch, uint32(t.values.n)}
		if err := t.value(text()); err != nil {
			return err
		}
	}
	arrow.Uint32Traits.PutValue(t.indexes.grow(4), known.code)
	return nil
}

// value appends a text to the array or to the dictionary.
func (t *stateTexts) value(text []byte) error {
	if t.values.data.n+len(text) > t.values.limit {
		return fmt.Errorf("%w: %w", ErrBuild, errLarge)
	}
	return appendValue(&t.values, text)
}

// nulls appends n nulls. It does nothing if n is not above 0.
func (t *stateTexts) nulls(n int) error {
	if n <= 0 {
		return nil
	}
	t.validity.null(t.n, n)
	t.n += n
	if t.coded {
		clear(t.indexes.grow(4 * n))
		return nil
	}
	if err := t.values.close(); err != nil { // an empty text for each null
		return err
	}
	return t.values.appendAgain(n - 1)
}

// take hands over the texts. The caller releases the result.
func (t *stateTexts) take(typ arrow.DataType) *array.Data {
	n := t.n
	bits, nulls := t.validity.take(n)
	defer t.reset()
	if !t.coded {
		data := t.values.take(bits, nulls)
		if typ.ID() == arrow.STRING {
			return data
		}
		defer data.Release()
		return array.NewData(typ, n, data.Buffers(), nil, nulls, 0)
	}
	dict := t.values.take(nil, 0)
	defer dict.Release()
	indexes := t.indexes.take()
	defer release(bits, indexes)
	return array.NewDataWithDictionary(typ, n, []*memory.Buffer{bits, indexes}, nulls, 0, dict)
}

func (t *stateTexts) reset() {
	t.n = 0
	t.validity.release()
	t.values.release()
	t.indexes.release()
	if t.epoch++; t.epoch == 0 {
		t.codes, t.epoch = pages[localCode]{}, 1
	}
}
