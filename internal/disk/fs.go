package disk

import "io"

// FS is one flat directory of files, the package's only way to the disk. [System] returns a directory of
// the operating system. Names have no separators. All methods are safe for concurrent use, and errors name
// the file.
type FS interface {
	// Create makes an empty file for reading and writing. If the name is taken it returns
	// fs.ErrExist. The name is durable after SyncDir.
	Create(name string) (File, error)
	// Open opens a file for reading. If it does not exist, it returns fs.ErrNotExist.
	Open(name string) (File, error)
	// Remove removes a file. A crash before the next SyncDir can bring it back. Windows refuses
	// to remove an open file.
	Remove(name string) error
	// Trim shortens a file to size bytes. A crash can leave it as it was.
	Trim(name string, size int64) error
	// List returns all file names, sorted.
	List() ([]string, error)
	// SyncDir makes the names of created files, and the removal of others, durable.
	SyncDir() error
	// Lock locks the directory until the lock is closed, without waiting: for one owner, or shared by
	// readers. It returns ErrLocked if another process or FS has it. An exclusive lock makes the
	// directory if it does not exist.
	Lock(shared bool) (io.Closer, error)
	// Free returns the bytes that files can still take.
	Free() (int64, error)
}

// isHere returns an error if a directory of the operating system that this process has locked is not what has its name
// now. Otherwise writes would go to files without a name, and be lost.
func isHere(fs FS) error {
	if s, ok := lowest(fs).(*system); ok {
		return s.here()
	}
	return nil
}

// lowest returns the FS below layers, such as a Space: an FS with a method Under is one.
func lowest(fs FS) FS {
	for {
		layer, ok := fs.(interface{ Under() FS })
		if !ok {
			return fs
		}
		fs = layer.Under()
	}
}

// File is a file in an FS. Methods but Close are safe for concurrent use.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Size returns the file's bytes.
	Size() (int64, error)
	// Reserve sets the file's size. New bytes read as zero, and the file system allocates them if it
	// can, so that a full disk fails here and not in a later write.
	Reserve(size int64) error
	// Sync returns once the file's bytes and size are durable. After an error some bytes can be lost
	// although later calls succeed.
	Sync() error
	io.Closer
}
