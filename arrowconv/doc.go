// Package arrowconv turns encoded columns into Arrow records, and Arrow records into vectors. Only this
// package and the packages that write records to files (export, and the command's parquet) touch Arrow
// arrays.
//
// A [RecordBuilder] makes records for export from the words of encoded columns, column by column. There
// are three forms, because engines differ in the types that they read:
//
//	             FormDictionary                   FormNative   FormPlain
//	Int64        int64                            the same     int64
//	  of times   timestamp[ns]                    the same     timestamp[ns]
//	Uint64       uint64                           the same     uint64
//	Float64      double                           the same     double
//	Bool         bool                             the same     bool
//	String       dictionary<uint32, utf8>         the same     utf8
//	  not coded  utf8                             the same     utf8
//	UUID         dictionary<uint32, fsb[16]>      the same     fsb[16]
//	  not coded  fsb[16]                          the same     fsb[16]
//	UUIDList     dictionary<uint32, list<fsb[16]>> the same    list<fsb[16]>
//	  of names   dictionary<uint32, list<utf8>>   the same     list<utf8>
//
// where fsb is fixed_size_binary. Fields of FormNative can be run-end encoded (Field.Runs):
// run_end_encoded<int32, T>, where T is the type in the table.
//
// A fixed type's words are the values of an Arrow buffer, so such rows are copied. The codes of a store's
// dictionary are mapped to codes of the record's dictionary, and a value is read when its code first
// occurs. Run-end encoded columns store a value for each run, and its end:
//
//	words     7 7 9 0 0 7     codes of the store, 0 is null
//	indexes   0 0 1 - - 0     in the record
//	values    [ value(7) value(9) ]
//
//	run ends  2 3 5 6         of the same rows, in runs
//	indexes   0 1 - 0         the null is in the child: the array itself has none
//	values    [ value(7) value(9) ]
//
// Lists take most bytes of a record of profiles, and many records have the same lists. Reading lists one by
// one is slow. After an eighth of them, all lists of the store's dictionary are read at once, and become the
// dictionary of all later records of the field, if the field permits it (Field.Shared):
//
//	store     code 1 -> [a b]  code 2 -> [c b]  code 3 -> []
//	array     [ [a b] [c b] [] ]        one for many records
//	indexes   1 1 - 0                   words 2 2 0 1: a code, less 1
//
// An [IntervalBuilder] makes records of the states of histories (NewIntervalSchema).
//
// For import, [Batch] checks a record of any origin, then copies it into a batch's vectors. It trusts
// nothing: not lengths, not offsets, and not that text is UTF-8. An [Importer] reuses the memory of the lists
// for the next record.
//
// # Invariants
//
//	A1  The dictionary of a record has the values of its rows, each
//	    once, in the order of their first use. Two exceptions: a shared dictionary of
//	    lists has all lists that the store's dictionary had at one time, by code; and
//	    a dictionary of names has a list for each list of ids, even if two are equal.
//	A2  The columns of a record have the same length, and no null in a field that is not
//	    nullable. If rows do not make such a record, Record returns an error,
//	    and the builder is as empty as after a success.
//	A3  Batch answers any record with a batch or an error that wraps ErrRecord.
//	    Every number of a record is checked before it is used to read memory,
//	    therefore no accessor of Arrow is called that could panic or leave its buffer.
//	A4  A batch shares no memory with its record.
//	A5  Batch allocates at most a small multiple of the bytes of a record,
//	    where a buffer counts once for each column that has it.
//	A6  Neighbouring runs of a run-end encoded column differ, and it has no
//	    null of its own.
//	A7  Memory of a record is reused for another record only after the last reference
//	    to the first has been released.
//
// # Ownership
//
// A builder is not safe for concurrent use, and its creator releases it. A record owns its memory, all of it
// from the builder's allocator. Its recipient releases it, in any goroutine and possibly after the builder.
// Strings and slices read from its arrays become invalid with it. Batch neither keeps nor releases a record;
// reading one takes no lock and writes nothing to it.
//
// # Traps of Arrow v14
//
//   - Concatenating sliced run-end encoded arrays is silently wrong: nothing is
//     ever concatenated. String of such a slice prints the whole array.
//   - Decoding IPC allocates as many bytes as the input asks for; one flipped bit
//     asked for 183 GB. This package takes records of the process, never bytes.
//   - The arrays' constructors check little (a list none of its offsets), and
//     accessors rely on it. Batch reads buffers only, and checks each access.
//   - Data.Dictionary returns a nil *Data as an interface that is not nil.
//   - NullN counts lazily and stores the count without a lock: a race between
//     two readers of one record. Only the bitmap is reliable. Of a run-end
//     encoded array NullN is 0.
//   - NewRecord takes columns longer than the record, and no columns for a
//     schema that has some. Both are refused here.
//   - Buffer.Resize to the size that a buffer has reallocates it.
//   - The dictionary builders hash every row. Here only new codes cost more
//     than a table look-up.
//
// The package does no IPC, and does not depend on granules or transactions.
//
// The package makes no compatibility promise.
package arrowconv
