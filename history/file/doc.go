// Package file keeps a history in a file: a [Writer] streams it there, so that it may be larger than
// memory, and a [Reader] reads what its queries need.
//
//	header | blocks and indexes, in the order of writing | end
//
// A block is the tiles of 64 KiB of memory, as they lie there, compressed where that saves an eighth. It
// is written once, when it is full or at a Sync. An index is the image of a view (history.View.AppendImage), with the places of tiles in
// blocks, compressed, a note of the layer above, and the place and checksum of each block, and of bytes
// beside it (Writer.Aside), which are read when they are asked for. An end names the index before it. Each
// Sync writes an index and an end of its own. docs/format/history.md has the bytes.
//
// # Invariants
//
//	P1  Bytes of a file are written once. Bytes before an end were durable before the end was
//	    written. So the last end that is whole names a whole history, unless the disk damaged it.
//	P2  A history that was opened is that of the last Sync whose end is whole. What is behind that
//	    end is told by Reader.Lost.
//	P3  No block is used before its checksum is right, and no tile before its numbers fit it.
//	    Otherwise the query has an error, and others answer.
//	P4  After a write or a sync failed the file gets no more bytes. The history in memory goes on,
//	    and Sync and Close return that error.
package file
