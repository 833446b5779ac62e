package files

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/schema"
)

// mostFiles is the number of files of a generation at which they are merged into one.
const mostFiles = 8

// Dictionaries are a generation in memory, with the point up to which the log has it.
type Dictionaries struct {
	*granule.Generation
	Number        int64
	Filed, Logged granule.Watermark
	Entries       uint64 // number of log entries up to Logged
	Piece         int    // bytes of an image, approximately
}

// dictsPieceSize is a piece's bytes in a directory, with the size of its image as u64. Since version 2 the number of
// the generation follows.
const dictsPieceSize = disk.PieceSize + 8

// Sizes of generations in memory and of files, up to which small generations share a file.
const (
	smallDicts  = 64 << 10
	sharedDicts = 1 << 20
)

// DictsWriter writes the dictionaries of a table's generations. Small generations share a file. Close or Abandon
// ends it. It belongs to one goroutine.
type DictsWriter struct {
	dir       *Dir
	file      *disk.FileWriter // nil if none is begun
	number    uint64           // of the file
	bytes     int64            // of its pieces
	directory []byte
}

// WriteDicts returns a writer of dictionaries.
func (d *Dir) WriteDicts() *DictsWriter { return &DictsWriter{dir: d} }

// Close ends the current file. Dir.Sync makes it durable. The error comes from the disk.
func (w *DictsWriter) Close() error {
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	return w.dir.end(file, w.directory)
}

// Abandon removes the current file.
func (w *DictsWriter) Abandon() {
	if w.file != nil {
		w.file.Abandon()
		w.file = nil
	}
}

// Write writes the entries in a generation between its watermarks, and returns the generation with the file that
// has them. If there are many files, it writes everything up to Logged, and that file is the only one. It needs
// memory for one image and its frame. The error comes from the disk.
func (w *DictsWriter) Write(dicts Dictionaries, before GenerationFiles) (GenerationFiles, error) {
	after := GenerationFiles{Number: before.Number, Entries: dicts.Entries, Files: before.Files}
	if dicts.Filed == dicts.Logged {
		return after, nil
	}
	from := dicts.Filed
	if len(before.Files) >= mostFiles {
		from, after.Files = granule.Watermark{}, nil
	}
	small := dicts.Size() <= smallDicts
	if err := w.begin(small); err != nil {
		return before, err
	}
	after.Files = append(slices.Clip(after.Files), w.number)
	var image, frame []byte
	for from != dicts.Logged {
		next := dicts.Fit(from, dicts.Logged, dicts.Piece)
		image = dicts.AppendImageTo(image[:0], from, next)
		frame = appendFrame(frame[:0], image)
		piece, err := w.file.Write(frame)
		if err != nil {
			return before, err
		}
		w.bytes += piece.Length
		w.directory = binary.LittleEndian.AppendUint64(piece.Append(w.directory), uint64(len(image)))
		w.directory = binary.LittleEndian.AppendUint64(w.directory, uint64(dicts.Number))
		from = next
	}
	if !small || w.bytes >= sharedDicts {
		return after, w.Close()
	}
	return after, nil
}

// begin begins a file, unless a small generation can share the current one.
func (w *DictsWriter) begin(small bool) error {
	if small && w.file != nil {
		return nil
	}
	if err := w.Close(); err != nil {
		return err
	}
	file, err := w.dir.create(DictsKind)
	if err != nil {
		return err
	}
	w.file, w.number, w.bytes, w.directory = file, w.dir.next-1, 0, nil
	return nil
}

// ReadDicts adds the contents of a generation's files to the empty dictionaries into. The errors are
// *disk.DamagedError, ErrFile, granule.ErrImage, and errors from the FS.
func (d *Dir) ReadDicts(s *schema.Schema, g GenerationFiles, into *granule.Generation) error {
	for _, number := range g.Files {
		if err := d.readDicts(s, number, g.Number, into); err != nil {
			return fmt.Errorf("generation %d: %s: %w", g.Number, disk.FileName(DictsKind, number), err)
		}
	}
	return nil
}

// readDicts adds what a file has of a generation.
func (d *Dir) readDicts(s *schema.Schema, number uint64, generation int64, into *granule.Generation) error {
	r, err := d.open(DictsKind, number)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // the file was only read
	directory, size := r.Directory(), dictsPieceSize
	if r.Version() >= 2 {
		size += 8
	}
	if len(directory)%size != 0 {
		return fmt.Errorf("%w: a directory of %d bytes", ErrFile, len(directory))
	}
	version := granule.LocationCodes
	switch {
	case r.Version() < 3:
		version = granule.WholeRecords
	case r.Version() < 4:
		version = granule.SharedTexts
	}
	var frame []byte
	found := false
	for i := 0; len(directory) > 0; i++ {
		piece, rest, _ := disk.CutPiece(directory)
		directory = directory[size:]
		if r.Version() >= 2 && int64(binary.LittleEndian.Uint64(rest[8:])) != generation {
			continue
		}
		found = true
		if frame, err = r.Read(piece, frame); err == nil {
			err = addDicts(s, frame, binary.LittleEndian.Uint64(rest), version, into)
		}
		if err != nil {
			return fmt.Errorf("piece %d: %w", i, err)
		}
	}
	if !found {
		return fmt.Errorf("%w: it has nothing of the generation", ErrFile)
	}
	return nil
}

// addDicts adds a frame's image.
func addDicts(s *schema.Schema, frame []byte, size uint64, version granule.Version, into *granule.Generation) error {
	image, err := decompress(frame, size)
	if err != nil {
		return err
	}
	add, err := into.OpenImage(s, image, version)
	if err != nil {
		return err
	}
	add()
	return nil
}

// appendFrame appends an image as a zstd frame, which has half of its bytes, or a third with symbols. It
// costs 5 ns per byte. It appends the unchanged image if the frame is not smaller, or if it is so much
// smaller that a reader would refuse it.
func appendFrame(dst, image []byte) []byte {
	encoder := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	at := len(dst)
	dst = encoder.EncodeAll(image, dst)
	if frame := dst[at:]; len(frame) >= len(image) || len(image) > mostSmaller*len(frame) {
		return append(dst[:at], image...)
	}
	return dst
}

// encoders is a pool. An encoder keeps twice its window until a collection finds it idle.
var encoders = sync.Pool{New: func() any {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // no option is invalid
	return e
}}

// mostSmaller is the greatest ratio of an image's size to its frame's. It bounds the memory for a hostile
// frame. Frames of real dictionaries are far below it.
const mostSmaller = 1 << 10

// decoder decodes a frame if the destination has room for its image. It is safe for concurrent use.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)) // no option is invalid
	return d
})

// decompress returns a frame's image. size is the size of the image. If it equals the size of the frame, the
// frame is the image.
func decompress(frame []byte, size uint64) ([]byte, error) {
	if size == uint64(len(frame)) {
		return frame, nil
	}
	if size > mostSmaller*uint64(len(frame)) {
		return nil, fmt.Errorf("%w: %d bytes in a frame of %d", ErrFile, size, len(frame))
	}
	image, err := decoder().DecodeAll(frame, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: a frame of %d bytes for %d: %w", ErrFile, len(frame), size, err)
	}
	if uint64(len(image)) != size {
		return nil, fmt.Errorf("%w: a frame of %d bytes has %d of %d", ErrFile, len(frame), len(image), size)
	}
	return image, nil
}
