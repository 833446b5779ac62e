// Package files keeps a database at one commit in files: its rows by time bucket, its dictionaries by
// generation, and a manifest that names these files and has everything else. It has no transactions or
// goroutines. The log has later commits (packages disk and columnstore).
//
//	manifest -> table -> bucket     -> file of rows: images of parts, by granule
//	                  -> generation -> files of dictionaries, one after the other
//	         -> history -> file of states: the image of a history
//	         -> the first segment of the log that is needed
//
// Files are written once (package disk). A file counts when a durable manifest names it. A manifest is
// written twice, under two numbers, because one damaged sector must not cost the store. The newest whole
// copy counts. When it is durable, Clean removes the files that neither it nor a read needs, older
// manifests first, because a manifest on the disk must have its files.
//
//	write files, sync | sync names | write manifest, sync | sync names | remove old manifests, sync names | remove files
//	                                                                   ^ counts from here
//
// Small buckets share a file, and so do the dictionaries of small generations: their number of files is bounded by
// bytes. A shared file goes with the last of them (TableFiles.Sparse).
//
// A rows file is never extended: a bucket that got rows is written again as a whole. Dictionaries grow by
// files, which are merged when there are many.
//
// OpenRows reads the directory of a rows file, with the bucket's series and columns, and needs no
// dictionaries. Pieces.Image then reads one granule, so that rows can stay in the file (package
// internal/cold). Pieces.ReadPage reads the few bytes that can have an id.
//
// docs/format/files.md draws the bytes.
//
// # Invariants
//
//	D2  A file that a manifest names is whole and durable, and never changes.
//	D4  The codes of a file of rows refer to the dictionary files of its generation.
//	D5  Bytes are used only after their checksum was compared, and images only after a check.
//	D8  Clean removes only files that no manifest on the disk names and no read needs.
package files
