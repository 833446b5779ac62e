package arrowconv

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// codesOf are the codes of a column of lists.
func (w *words) codesOf() (codes []uint32) {
	for _, word := range w.words {
		codes = append(codes, uint32(word))
	}
	return codes
}

// TestLists_Mixed: lists of an answer keep their identity after rows of a column with another
// dictionary, and after another answer.
func TestLists_Mixed(t *testing.T) {
	v := someLists(90)
	for _, form := range allForms {
		for _, runs := range []bool{false, true} {
			b := NewRecordBuilder(checked(t), form, []Field{{Name: "c", Type: encoding.UUIDList, Nullable: true, Runs: runs}})
			first, second := encode(t, spec(encoding.UUIDList, true), v), encode(t, spec(encoding.UUIDList, true), v)
			slices.Reverse(second.words)
			want := rows(v)
			backwards := slices.Clone(want)
			slices.Reverse(backwards)
			for range 2 {
				b.Words(0, first.from, first.words, first.valid)
				b.Lists(0, second.from.Lists().View(), append(second.codesOf(), 0, 0))
				b.Lists(0, first.from.Lists().View(), append([]uint32{0}, first.codesOf()...))
				rec, err := b.Record()
				if err != nil {
					t.Fatal(err)
				}
				equal(t, slices.Concat(want, backwards, []any{nil, nil, nil}, want), rowsOf(rec.Column(0)))
				if form != FormPlain {
					distinct := map[string]bool{}
					for _, list := range want {
						distinct[fmt.Sprint(list)] = true
					}
					diff(t, len(distinct), dictionaryOf(rec).Dictionary().Len())
				}
				rec.Release()
			}
			b.Release()
		}
	}
}

// TestLists_TooLarge: offsets of lists never overflow, and nothing is allocated for lists
// that do not fit.
func TestLists_TooLarge(t *testing.T) {
	v := someLists(40)
	w := encode(t, spec(encoding.UUIDList, true), v)
	for _, form := range allForms {
		mem := &counting{Allocator: checked(t)}
		b := NewRecordBuilder(mem, form, []Field{{Name: "c", Type: encoding.UUIDList}})
		of := &b.columns[0].cells.values
		if form != FormPlain {
			of = &b.columns[0].cells.dict.values
		}
		of.limit = 500
		b.Lists(0, w.from.Lists().View(), w.codesOf())
		if _, err := b.Record(); !errors.Is(err, errLarge) || !errors.Is(err, ErrBuild) {
			t.Errorf("%v: %v", form, err)
		}
		if mem.bytes >= 500*uuidLen {
			t.Errorf("%v: %d bytes for lists that do not fit", form, mem.bytes)
		}
		var codes []uint32
		var want []any
		for i, code := range w.codesOf() {
			if list := v.UUIDLists[i]; len(list) <= 30 { // most, and fewer elements than the limit
				codes, want = append(codes, code), append(want, list)
			}
		}
		b.Lists(0, w.from.Lists().View(), codes)
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		equal(t, want, rowsOf(rec.Column(0)))
		rec.Release()
		b.Release()
	}
}

// TestLists_MostOf: an answer with most lists of a dictionary holds at most twice the memory
// of its own lists, though the others are the long ones.
func TestLists_MostOf(t *testing.T) {
	v := encoding.Vector{Type: encoding.UUIDList}
	for i := range 1000 {
		list := slices.Repeat([]uuid.UUID{{byte(i), byte(i >> 8)}}, 10)
		if i%10 == 0 {
			list = slices.Repeat(list, 100)
		}
		v.UUIDLists = append(v.UUIDLists, list)
	}
	w := encode(t, spec(encoding.UUIDList, true), v)
	var codes []uint32
	var want []any
	for i, code := range w.codesOf() {
		if i%10 != 0 {
			codes, want = append(codes, code), append(want, v.UUIDLists[i])
		}
	}
	for _, form := range allForms {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		b := NewRecordBuilder(mem, form, []Field{{Name: "c", Type: encoding.UUIDList}})
		b.Lists(0, w.from.Lists().View(), codes)
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		equal(t, want, rowsOf(rec.Column(0)))
		if bytes, most := mem.CurrentAlloc(), 2*len(codes)*(10*uuidLen+8)+(8<<10); bytes > most {
			t.Errorf("%v: %d bytes, want at most %d", form, bytes, most)
		}
		rec.Release()
		mem.AssertSize(t, 0)
	}
}

// TestHeap: memory of the heap is as long as asked for, begins where a cache line does, and
// is nobody else's.
func TestHeap(t *testing.T) {
	h := newHeap()
	var all [][]byte
	for i, size := range []int{0, 1, 100, uncleared - 1, uncleared, uncleared + 1, 3*uncleared + 77} {
		b := h.Allocate(size)
		if len(b) != size {
			t.Fatalf("%d bytes, want %d", len(b), size)
		}
		if size > 0 && !aligned(b) {
			t.Errorf("%d bytes do not begin where a cache line does", size)
		}
		fillWith(b, uint8(i))
		all = append(all, b)
	}
	for i, b := range all {
		for _, value := range b {
			if value != uint8(i) {
				t.Fatalf("%d bytes have changed", len(b))
			}
		}
		h.Free(b)
	}
	grown := h.Reallocate(2*uncleared, all[len(all)-1])
	diff(t, uint8(len(all)-1), grown[2*uncleared-1])
}
