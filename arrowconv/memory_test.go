package arrowconv

import (
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// counting is an allocator that counts its allocations.
type counting struct {
	memory.Allocator
	mu    sync.Mutex
	calls int
	bytes int
}

func (c *counting) Allocate(size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.bytes = c.calls+1, c.bytes+size
	return c.Allocator.Allocate(size)
}

// TestRecycled: records that are released one by one take no more memory than the first
// two; others have memory of their own (A7).
func TestRecycled(t *testing.T) {
	mem := &counting{Allocator: checked(t)}
	b := NewRecordBuilder(mem, FormDictionary, []Field{{Name: "c", Type: encoding.String, Coded: true}, {Name: "n", Type: encoding.Int64}})
	ints := encode(t, spec(encoding.Int64, false), encoding.Int64s(1, 2, 3))
	next := func(i int) arrow.Record {
		for range 1000 {
			b.Repeat(0, fmt.Sprint("value", i), 3)
			b.Words(1, ints.from, ints.words, nil)
		}
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	calls := 0
	for i := range 20 {
		rec := next(i)
		if i == 2 {
			calls = mem.calls
		}
		diff(t, fmt.Sprint("value", i), rowOf(rec.Column(0), 2999))
		rec.Release()
	}
	if mem.calls != calls {
		t.Errorf("%d allocations for 20 records, %d for 3", mem.calls, calls)
	}
	var kept []arrow.Record
	for i := range 20 {
		kept = append(kept, next(i))
	}
	var releases sync.WaitGroup
	for i, rec := range kept {
		diff(t, fmt.Sprint("value", i), rowOf(rec.Column(0), 2999))
		releases.Go(rec.Release) // wherever, and before or after the builder
	}
	b.Release()
	releases.Wait()
}

// TestRecycledForLong: memory that is taken and freed repeatedly is allocated once.
func TestRecycledForLong(t *testing.T) {
	mem := &counting{Allocator: checked(t)}
	r := newRecycler(mem)
	for range 4 * mostKept >> 20 {
		r.Free(r.Allocate(1 << 20))
	}
	r.close()
	if mem.calls != 1 {
		t.Errorf("%d allocations", mem.calls)
	}
}

// TestRecycledBound: free memory beyond the bound is returned.
func TestRecycledBound(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	r := newRecycler(mem)
	var all [][]byte
	for range 5 {
		all = append(all, r.Allocate(mostKept/3))
	}
	for _, b := range all {
		r.Free(b)
	}
	if kept := mem.CurrentAlloc(); kept > mostKept || kept < mostKept/2 {
		t.Errorf("%d bytes are kept, at most %d", kept, mostKept)
	}
	r.Free(r.Allocate(0))
	r.close()
	mem.AssertSize(t, 0)
	r.Free(r.Allocate(10))
	mem.AssertSize(t, 0)
}

// TestRecycledAfterGrowth: memory of sizes that are not requested again does not displace
// sizes that are.
func TestRecycledAfterGrowth(t *testing.T) {
	mem := &counting{Allocator: checked(t)}
	r := newRecycler(mem)
	for size := 1 << 10; size < mostKept; size *= 2 {
		r.Free(r.Allocate(size))
		r.Free(r.Allocate(size / 4 * 3))
	}
	before := mem.calls
	for range 10 {
		large, small := r.Allocate(mostKept/2), r.Allocate(mostKept/16)
		r.Free(small)
		r.Free(large)
	}
	r.Free(r.Allocate(mostKept + 1)) // does not displace kept memory
	r.Free(r.Allocate(mostKept / 2))
	r.close()
	if calls := mem.calls - before; calls > 3 {
		t.Errorf("%d allocations", calls)
	}
}

// TestSmallAfterLarge: an array holds at most twice the memory that its rows need, however
// large the record before was.
func TestSmallAfterLarge(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	b := NewRecordBuilder(mem, FormPlain, []Field{{Name: "c", Type: encoding.String, Nullable: true}})
	b.Repeat(0, "0123456789", 1_000_000)
	b.Nulls(0, 1)
	large, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	b.Repeat(0, "0123456789", 1000)
	b.Nulls(0, 1)
	small, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	large.Release()
	b.Release()
	if bytes := mem.CurrentAlloc(); bytes > 2*(10+4)*1000+3*(4<<10) {
		t.Errorf("1,001 rows of 10 bytes hold %d bytes", bytes)
	}
	diff(t, "0123456789", rowOf(small.Column(0), 999))
	small.Release()
	mem.AssertSize(t, 0)
}

// TestSize: Size grows with strings and lists, also those of dictionaries.
func TestSize(t *testing.T) {
	for _, form := range allForms {
		b := NewRecordBuilder(checked(t), form, []Field{
			{Name: "s", Type: encoding.String, Coded: true}, {Name: "n", Type: encoding.Int64}, {Name: "l", Type: encoding.UUIDList},
		})
		ints := encode(t, spec(encoding.Int64, false), encoding.Int64s(1, 2))
		b.Words(1, ints.from, ints.words, nil)
		if b.Size() != 0 {
			t.Errorf("%v: %d bytes of integers", form, b.Size())
		}
		b.Repeat(0, "abc", 2)
		text := map[Form]int{FormDictionary: 3 + 8, FormNative: 3 + 8, FormPlain: 6 + 12}[form]
		if b.Size() != text {
			t.Errorf("%v: %d bytes of strings, want %d", form, b.Size(), text)
		}
		lists := encode(t, spec(encoding.UUIDList, true), someLists(2))
		b.Words(2, lists.from, lists.words, nil)
		if want := text + 16*7 + 12; b.Size() != want {
			t.Errorf("%v: %d bytes with lists, want %d", form, b.Size(), want)
		}
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		if b.Size() != 0 {
			t.Errorf("%v: %d bytes after the record", form, b.Size())
		}
		rec.Release()
		b.Release()
	}
}
