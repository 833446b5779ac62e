// Package filed keeps partial histories in files: what is kept as a history of package paged, and the checkpoints as
// the note of its index. So both are under one checksum, and the provider and its version stand in the file.
//
// A file has two indexes: that of the empty history that it begins with, and that of the whole. A writer
// that was killed leaves the first, which Open refuses.
package filed
