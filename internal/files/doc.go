// Package files keeps a database at one commit in files: its rows by time bucket, its dictionaries
// by generation, and a manifest that names these files and has the rest. It knows bytes and names,
// and neither transactions nor goroutines. The log has what came later (packages disk and
// columnstore).
//
//	manifest -> table -> bucket     -> file of rows: images of parts, by granule
//	                  -> generation -> files of dictionaries, one after the other
//	         -> history -> file of states: the image of a history
//	         -> the first segment of the log that is needed
//
// Files are written once (package disk). A file counts once a durable manifest names it. A manifest
// is written twice, under two numbers, so that one damaged sector does not cost the store; the
// newest whole one counts. When it is durable, Clean removes all that neither it nor a read needs,
// older manifests first: while one of these is there, so are its files.
//
//	write files, sync | sync names | write manifest, sync | sync names | remove old manifests, sync names | remove files
//	                                                                   ^ counts from here
//
// A file of rows is never extended: a bucket that has got rows is written again as a whole.
// Dictionaries grow by files, and are written again as one when these are many.
//
// OpenRows reads the directory of a file of rows, with the series and the columns of the bucket, and
// needs no dictionaries. Pieces.Image then reads one granule, so that rows can stay in the file
// (package internal/cold), and Pieces.ReadPage the few bytes that can have an id.
//
// docs/format/files.md draws the bytes.
//
// # Invariants
//
//	D2  A file that a manifest names is whole and durable, and never changes.
//	D4  The codes of a file of rows are those of the dictionary files of its generation.
//	D5  No byte is used whose checksum was not compared, and no image that was not checked.
//	D8  Clean removes only what no manifest on the disk names, and no read needs.
package files
