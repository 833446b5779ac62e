package disk

import "io"

// FS is one flat directory of files, the package's only way to the disk. [System] returns a
// directory of the operating system. Names have no separators. All methods are safe for
// concurrent use, and errors name the file.
type FS interface {
	// Create makes an empty file for reading and writing. If the name is taken it returns
	// fs.ErrExist. The name is durable after SyncDir.
	Create(name string) (File, error)
	// Open opens a file for reading. If there is none it returns fs.ErrNotExist.
	Open(name string) (File, error)
	// Remove removes a file. A crash before the next SyncDir can bring it back. Windows refuses
	// to remove an open file.
	Remove(name string) error
	// Trim shortens a file to size bytes. A crash can leave it as it was.
	Trim(name string, size int64) error
	// List returns the names of all files, sorted.
	List() ([]string, error)
	// SyncDir makes the names of created files, and the removal of others, durable.
	SyncDir() error
	// Lock locks the directory until the lock is closed, without waiting: for one owner, or
	// shared by readers. It returns ErrLocked if another process or FS has it. An exclusive
	// lock makes the directory if there is none.
	Lock(shared bool) (io.Closer, error)
	// Free returns the bytes that files can still take.
	Free() (int64, error)
}

// File is a file of an FS. Methods but Close are safe for concurrent use.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Size returns the number of bytes of the file.
	Size() (int64, error)
	// Reserve sets the size of the file. Bytes that are new read as zero, and the file system
	// allocates them if it can, so that a full disk is met here and not by a later write.
	Reserve(size int64) error
	// Sync returns once the bytes and the size of the file are durable. After an error some
	// bytes can be lost although later calls succeed.
	Sync() error
	io.Closer
}
