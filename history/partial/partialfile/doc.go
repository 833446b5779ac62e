// Package partialfile keeps partial histories in files: the kept intervals as a history of package file,
// and the checkpoints as the note of its index. So both are under one checksum, and the provider and its
// version are in the file.
//
// A file of [Write] has two indexes: the empty history's, with which it begins, and the whole history's. A
// killed writer leaves the first, which Open refuses.
package partialfile
