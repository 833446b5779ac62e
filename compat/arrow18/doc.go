// Package arrow18 bridges Arrow records of github.com/apache/arrow/go/v14, which Granary
// makes, to github.com/apache/arrow-go/v18, without copying a byte.
//
// [Record] bridges one record, [Schema] a schema, and a [Reader] the records of a whole scan, one after the
// other. Both versions lay out arrays in the same way, therefore a v18 array consists of v18 headers over the
// buffers of the v14 array:
//
//	v14  record -> columns -> data -> buffers -> bytes
//	                                     ^        ^
//	                             retains |        | same address and length
//	                                   owner      |
//	                                     ^        |
//	v18  record -> columns -> data -> buffers ----+
//
// The owner is the allocator of the v18 buffer: freeing that buffer releases the v14 buffer.
//
// These types are bridged, nested in any way, up to 32 deep:
//
//	null, bool, int8 to int64, uint8 to uint64, float32, float64
//	utf8, binary, fixed_size_binary[n], timestamp (any unit and zone)
//	list, dictionary (any integer index), run_end_encoded (any run ends)
//
// They include every type of package arrowconv, in each of its forms. Other types are ErrType until Granary
// makes them.
//
// # Invariants
//
//	B1  Every buffer of a v18 record has the same address and length as the v14 record's
//	    buffer at the same place. Offsets, lengths and the order of children are also the
//	    same, therefore a slice stays a slice.
//	B2  A v14 buffer is retained once for each v18 buffer over it, and released
//	    with the last v18 array over it, in whatever order the records are released.
//	B3  An invalid type or record is an error that names the column, and retains
//	    nothing. No number in a record makes this package, or a constructor of
//	    v18, panic or read beyond a buffer.
//	B4  The number of allocations depends on the types of a record, not on its
//	    rows or its bytes.
//	B5  Several goroutines may bridge one record at once, and read one bridged
//	    record. Bridging fills the lazy fields of v18, therefore reading writes nothing.
//	B6  A Reader keeps one record at a time, unless its caller retains more, and
//	    none while the scan makes the next.
//	B7  A Reader's scan runs only during its Next and its last Release, and has
//	    ended when the last Release returns.
//
// # Requiring it
//
// The module is github.com/granarydb/granary/compat/arrow18, separate from the library's module, so that
// programs without Arrow v18 do not require it. Its tests run in its folder. Each version requires the same
// version of the library:
//
//	go get github.com/granarydb/granary/compat/arrow18
//
// # Ownership
//
// The caller of Record releases both records, in any order. A Reader releases the records of its scan and the
// records that it returns. Records are immutable: a write to a buffer of one record also changes the other.
//
// Values are not checked: offsets in the middle, run ends, indexes and text are trusted. This is right for
// records of the same process. Check records from elsewhere with array.ValidateRecordFull of v18.
//
// # Cost
//
// An int64 column costs 8 allocations and about 1 us, and run-end encoded dictionaries 29 allocations and 2
// us (go test -bench Record), whatever their length. A field with a validity bitmap costs 10 ns more per
// thousand rows, to count its nulls. Record also bridges the schema, which costs 1 us per column; a Reader
// does this once.
//
// # Traps of Arrow v18.8
//
//   - array.ReaderFromIter pulls from a coroutine. A call from C, which locks its goroutine
//     to a thread, then ends the process. A Reader has a goroutine instead.
//   - ReaderFromIter loses its error at the next call of Next.
//   - On first use, NullN counts nulls and Dictionary.Dictionary makes an array, and both store
//     the result without a lock: readers race. Record therefore calls both first (B5).
//   - IPC writes a dictionary of run-end encoded values but cannot read it.
//   - A buffer may be resized although it is not mutable. An owner then moves it to separate
//     memory.
package arrow18
