// Package file keeps a history in a file: a [Writer] streams it there, so that it may be larger than
// memory, and a [Reader] reads only the bytes that its queries need.
//
//	header | blocks and indexes, in the order of writing | end
//
// A block is the tiles in 64 KiB of memory, as they lie there, compressed where that saves an eighth. It is
// written once, when it is full or at a Sync. An index is a view's image (history.View.AppendImage), with
// the places of tiles in blocks, compressed, a note from the layer above, and the place and checksum of
// each block, and of the separate block Aside (Writer.Aside), which is read on demand. An end names the
// index before it. Each Sync writes an index and an end. docs/format/history.md has the bytes.
//
// # Invariants
//
//	P1  Bytes of a file are written once. Bytes before an end were durable before the end was
//	    written. So the last end that is whole names a whole history, unless the disk damaged it.
//	P2  An opened history is the history at the last Sync whose end is whole. Reader.Lost is the
//	    number of bytes behind that end.
//	P3  No block is used before its checksum is right, and no tile before its numbers fit it.
//	    Otherwise the query has an error, and others answer.
//	P4  After a write or a sync failed the file gets no more bytes. The history in memory goes on,
//	    and Sync and Close return that error.
package file
