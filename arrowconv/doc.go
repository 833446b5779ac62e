// Package arrowconv turns encoded columns into Arrow records, and Arrow records
// into plain ones. It is the only package that touches Arrow arrays.
//
// Outwards, a [Builder] is fed rows as the words of encoded columns, a column
// at a time, and makes records of the form that every engine reads: no
// run-end encoding, dictionaries where values repeat.
//
//	Int64 Uint64 Float64 Bool  int64 uint64 double bool
//	String           coded     dictionary<uint32, utf8>
//	                 plain     utf8
//	UUID             coded     dictionary<uint32, fixed_size_binary[16]>
//	                 plain     fixed_size_binary[16]
//	UUIDList                   dictionary<uint32, list<fixed_size_binary[16]>>
//
// The words of a fixed type are the values of an Arrow buffer, so such rows
// are copied as they are. The codes of a dictionary of the store are mapped to
// those of a dictionary made for one record, and a value is looked at when its
// code is first met:
//
//	words    7 7 9 0 7        codes of the store, 0 is null
//	indexes  0 0 1 - 0        in the record
//	values   [ value(7) value(9) ]
//
// Inwards, [Batch] checks a record that somebody else made, then copies it into
// the vectors that a table takes. It trusts nothing: not the lengths, not the
// offsets, not that text is UTF-8.
//
// # Invariants
//
//	A1  The dictionary of a record holds the values that its rows have, each
//	    once, in the order of their first use.
//	A2  A record has columns of one length and no null in a field that is not
//	    nullable. If rows do not make such a record, Record says so, and the
//	    builder is as empty as after a success.
//	A3  Batch answers any record with a batch or an error that wraps ErrRecord.
//	    Every number of a record is checked before something is read by it, so
//	    no accessor of Arrow is called that could panic or leave its buffer.
//	A4  A batch shares no memory with its record.
//	A5  Batch allocates at most a small multiple of the bytes of a record,
//	    where a buffer counts once for each column that has it.
//
// # Ownership
//
// A Builder belongs to one goroutine and is released by who made it. A record
// owns its memory, all of it from the builder's allocator, and is released by
// who was given it. Batch neither keeps nor releases a record; reading one
// takes no lock and writes nothing to it.
//
// # Traps of Arrow v14
//
//   - Concatenating sliced run-end encoded arrays is silently wrong, so such
//     arrays are neither made nor taken here (Batch refuses them by name), and
//     nothing is ever concatenated.
//   - Decoding IPC allocates what the bytes ask for; one flipped bit asked for
//     183 GB. This package takes records of the process, never bytes.
//   - The arrays' constructors check little (a list none of its offsets), and
//     accessors rely on it. Batch reads buffers only, each bounded anew.
//   - Data.Dictionary returns a nil *Data as an interface that is not nil.
//   - NullN counts lazily and stores the count without a lock: a race between
//     two readers of one record. The bitmap alone says what is null.
//   - NewRecord takes columns longer than the record, and no columns for a
//     schema that has some. Both are refused here.
//   - Buffer.Resize to the size that a buffer has reallocates it.
//   - The dictionary builders hash every row. Here only new codes cost more
//     than a look into a table.
//
// What this package does not do: the other two output forms (run-end encoded,
// all plain), IPC, and anything about granules or transactions.
package arrowconv
