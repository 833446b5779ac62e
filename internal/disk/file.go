package disk

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// trailerSize is the bytes of a file's trailer: the place of its directory, and checksums.
const trailerSize = 24

// Piece is a place in a file, and its bytes' checksum.
type Piece struct {
	Offset, Length int64
	CRC            uint32 // CRC32C
}

// FileWriter writes a file that never changes: a header, pieces, a directory of the pieces, and a trailer.
// A crash before Sync can leave a file that OpenFile refuses. A FileWriter belongs to one goroutine.
type FileWriter struct {
	fs     FS
	name   string
	file   File
	seed   uint32
	out    *bufio.Writer
	offset int64 // offset of the next piece
}

// buffers reuses buffers, because many files are smaller than a buffer.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}

// CreateFile makes the file FileName(kind, number). version is the format of its pieces, at least 1.
func CreateFile(fs FS, store StoreID, kind string, number uint64, version uint32) (*FileWriter, error) {
	h := header{version: version, kind: kind, store: store, number: number}
	if !isKind(kind) {
		return nil, fmt.Errorf("kind of file %q: want one to %d letters", kind, kindSize)
	}
	w := &FileWriter{fs: fs, name: FileName(kind, number), seed: h.seed(), offset: headerSize}
	var err error
	if w.file, err = fs.Create(w.name); err != nil {
		return nil, failed(err)
	}
	w.out = buffers.Get().(*bufio.Writer)
	w.out.Reset(io.NewOffsetWriter(w.file, 0))
	_, err = w.out.Write(h.encode()) // into the buffer
	return w, err
}

// Write appends a piece, at a multiple of 8 bytes. After an error the file can only be abandoned.
func (w *FileWriter) Write(b []byte) (Piece, error) {
	return w.WriteParts(func(put func([]byte) error) error { return put(b) })
}

// WriteParts appends a piece that write puts in parts, one after the other. After an error, which can be that of write,
// the file can only be abandoned.
func (w *FileWriter) WriteParts(write func(put func([]byte) error) error) (Piece, error) {
	p := Piece{Offset: w.offset}
	err := write(func(b []byte) error {
		if p.Length += int64(len(b)); p.Length > math.MaxUint32 {
			return fmt.Errorf("%w: piece of %s has %d bytes or more", ErrLimit, w.name, p.Length)
		}
		p.CRC = crc(p.CRC, b)
		return w.put(b)
	})
	if err != nil {
		return Piece{}, err
	}
	w.offset += align(p.Length)
	return p, w.put(pad(int(p.Length)))
}

func (w *FileWriter) put(parts ...[]byte) error {
	for _, b := range parts {
		if _, err := w.out.Write(b); err != nil {
			return failed(err)
		}
	}
	return nil
}

// Finish is End and Sync.
func (w *FileWriter) Finish(directory []byte) error {
	if err := w.End(directory); err != nil {
		return err
	}
	return w.Sync()
}

// End writes the directory and the trailer, and frees the buffer. After an error the file was abandoned.
func (w *FileWriter) End(directory []byte) error {
	p, err := w.Write(directory)
	if err == nil {
		trailer := p.Append(nil)
		err = w.put(binary.LittleEndian.AppendUint32(trailer, crc(w.seed, trailer)))
	}
	if err == nil {
		err = failed(w.out.Flush())
	}
	if err != nil {
		w.Abandon()
	} else {
		w.out.Reset(nil)
		buffers.Put(w.out)
	}
	w.out = nil
	return err
}

// Sync makes an ended file's bytes durable, and closes it. The name is durable after FS.SyncDir. After an
// error the file was abandoned.
func (w *FileWriter) Sync() error {
	err := failed(w.file.Sync())
	if err == nil {
		err = failed(w.file.Close())
	}
	if err != nil {
		w.Abandon()
	}
	return err
}

// Abandon removes the unfinished file.
func (w *FileWriter) Abandon() {
	_ = w.file.Close()
	_ = w.fs.Remove(w.name) // if it fails, the next opening of the store removes it
}

// PieceSize is the bytes of an encoded piece: u64 offset, u64 length, u32 CRC.
const PieceSize = 20

// Append appends the encoded piece to dst.
func (p Piece) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Offset))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Length))
	return binary.LittleEndian.AppendUint32(dst, p.CRC)
}

// CutPiece decodes the piece at the start of b, and returns the rest. ok is false if b is shorter.
func CutPiece(b []byte) (p Piece, rest []byte, ok bool) {
	if len(b) < PieceSize {
		return p, nil, false
	}
	p = Piece{int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint32(b[16:])}
	return p, b[PieceSize:], true
}

// FileReader reads a finished file. It is safe for concurrent use.
type FileReader struct {
	name      string
	file      File
	version   uint32
	end       int64 // end of the pieces
	directory []byte
}

// OpenFile opens a file, checks its header and trailer, and reads the directory. The error is a
// *DamagedError if the file is not whole, ErrFormat if its version is above newest, or an error from the
// FS. Pieces are checked when they are read.
func OpenFile(fs FS, store StoreID, kind string, number uint64, newest uint32) (*FileReader, error) {
	return openReader(fs, kind, number, func(r *FileReader) error { return r.open(store, kind, number, newest) })
}

// OpenHead is OpenFile for a caller that has the place of the pieces already. It does not read the directory.
func OpenHead(fs FS, store StoreID, kind string, number uint64, newest uint32) (*FileReader, error) {
	return openReader(fs, kind, number, func(r *FileReader) error {
		_, err := r.head(store, kind, number, newest)
		return err
	})
}

// OpenPieces is OpenFile for a caller that has the pieces already. It reads neither header nor
// directory, and Directory returns nil. Read still notices a wrong file by the checksum.
func OpenPieces(fs FS, kind string, number uint64) (*FileReader, error) {
	return openReader(fs, kind, number, (*FileReader).measure)
}

// openReader opens a file and calls read with it.
func openReader(fs FS, kind string, number uint64, read func(*FileReader) error) (*FileReader, error) {
	r := &FileReader{name: FileName(kind, number)}
	var err error
	if r.file, err = fs.Open(r.name); err != nil {
		return nil, err
	}
	if err := read(r); err != nil {
		_ = r.file.Close()
		return nil, err
	}
	return r, nil
}

// measure finds the end of the pieces.
func (r *FileReader) measure() error {
	size, err := r.file.Size()
	if err != nil {
		return err
	}
	if size < headerSize+trailerSize {
		return r.damaged(size, "it is too short")
	}
	r.end = size - trailerSize
	return nil
}

// head reads the header, and finds the end of the pieces.
func (r *FileReader) head(store StoreID, kind string, number uint64, newest uint32) (h header, err error) {
	h, err = readHeader(r.file, store, kind, number, newest)
	if errors.Is(err, errNoHeader) {
		err = r.damaged(0, err.Error())
	}
	if err != nil {
		return h, err
	}
	r.version = h.version
	return h, r.measure()
}

func (r *FileReader) open(store StoreID, kind string, number uint64, newest uint32) error {
	h, err := r.head(store, kind, number, newest)
	if err != nil {
		return err
	}
	var b [trailerSize]byte
	if _, err := r.file.ReadAt(b[:], r.end); err != nil {
		return r.unread(r.end, err)
	}
	if binary.LittleEndian.Uint32(b[20:]) != crc(h.seed(), b[:20]) {
		return r.damaged(r.end, "there is no whole trailer")
	}
	directory, _, _ := CutPiece(b[:])
	r.directory, err = r.Read(directory, nil)
	return err
}

// Version returns the version that CreateFile got, 0 after OpenPieces.
func (r *FileReader) Version() uint32 { return r.version }

// Directory returns the directory. It must not be changed.
func (r *FileReader) Directory() []byte { return r.directory }

// Read reads a piece into buf's memory, or new memory if that is too small, and checks its sum. If the
// piece is not in the file, the directory that has it is damaged.
func (r *FileReader) Read(p Piece, buf []byte) ([]byte, error) {
	if p.Offset < headerSize || p.Length < 0 || p.Offset > r.end || p.Length > r.end-p.Offset {
		return nil, r.damaged(p.Offset, fmt.Sprintf("%d bytes are not in the file", p.Length))
	}
	if int64(cap(buf)) < p.Length {
		buf = make([]byte, p.Length)
	}
	buf = buf[:p.Length]
	if _, err := r.file.ReadAt(buf, p.Offset); err != nil {
		return nil, r.unread(p.Offset, err)
	}
	if crc(0, buf) != p.CRC {
		return nil, r.damaged(p.Offset, fmt.Sprintf("the checksum of %d bytes differs", p.Length))
	}
	return buf, nil
}

// Close closes the file.
func (r *FileReader) Close() error { return r.file.Close() }

func (r *FileReader) damaged(at int64, reason string) error {
	return &DamagedError{File: r.name, Offset: at, Reason: reason}
}

// unread is the error for bytes within the file's size that cannot be read.
func (r *FileReader) unread(at int64, err error) error {
	if errors.Is(err, io.EOF) {
		return r.damaged(at, "it has become shorter")
	}
	return err
}

// failed wraps the disk's error in ErrDisk. It leaves a *DamagedError as it is.
func failed(err error) error {
	if _, damaged := errors.AsType[*DamagedError](err); err == nil || errors.Is(err, ErrDisk) || damaged {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDisk, err)
}
