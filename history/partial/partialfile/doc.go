// Package partialfile keeps partial histories in files: the kept intervals as a history of package file,
// and the checkpoints as the note of its index. So both are under one checksum, and the provider and its
// version are in the file.
//
// A file of [Write] has two indexes: the empty history's, with which it begins, and the whole history's. A
// killed writer leaves the first, which Open refuses.
//
// A [Writer] writes a history whose trace still grows. Each Sync adds an index, whose note also has the
// intervals that hold at the last checkpoint:
//
//	events    e e e e e | e e e e e e e e | e e e Sync e e ...
//	kept      ~~~~[-----------------]~~~~~[------        ~ gap, to replay
//	known     to the last checkpoint ---->|              behind it: partial.NotYetError
//
// A killed writer leaves everything that it synced, which is exact up to the checkpoint before its last
// Sync.
package partialfile
