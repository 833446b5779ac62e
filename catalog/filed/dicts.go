package filed

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/granarydb/granary/disk"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// mostFiles is the number of files of a generation at which they are written again as one.
const mostFiles = 8

// Dictionaries are a generation in memory, with how far the log has it.
type Dictionaries struct {
	*granule.Generation
	Filed, Logged granule.Watermark
	Entries       uint64 // of the log, up to Logged
}

// AreMany reports whether there are so many files that one should take their place.
func (g GenerationFiles) AreMany() bool { return len(g.Files) >= mostFiles }

// WriteDicts writes what a generation has between its watermarks, and returns the generation with
// the new file. If whole is set, it writes all up to Logged, as the only file. An error is one of the
// disk.
func (d *Dir) WriteDicts(dicts Dictionaries, before GenerationFiles, whole bool) (GenerationFiles, error) {
	after := GenerationFiles{Number: before.Number, Entries: dicts.Entries, Files: before.Files}
	if dicts.Filed == dicts.Logged {
		return after, nil
	}
	from := dicts.Filed
	if whole {
		from, after.Files = granule.Watermark{}, nil
	}
	image := dicts.AppendImageTo(nil, from, dicts.Logged)
	number, err := d.writePiece(DictsKind, d.compress(image), binary.LittleEndian.AppendUint64(nil, uint64(len(image))))
	if err != nil {
		return before, err
	}
	after.Files = append(slices.Clip(after.Files), number)
	return after, nil
}

// ReadDicts adds the contents of a generation's files to empty dictionaries. The errors are
// *disk.DamagedError, ErrFile, granule.ErrImage, and those of the FS.
func (d *Dir) ReadDicts(s *schema.Schema, g GenerationFiles, into *granule.Generation) error {
	for _, number := range g.Files {
		if err := d.readDicts(s, number, into); err != nil {
			return fmt.Errorf("generation %d: %s: %w", g.Number, disk.FileName(DictsKind, number), err)
		}
	}
	return nil
}

func (d *Dir) readDicts(s *schema.Schema, number uint64, into *granule.Generation) error {
	compressed, size, err := d.readPiece(DictsKind, number, 8)
	if err != nil {
		return err
	}
	image, err := decompress(compressed, binary.LittleEndian.Uint64(size))
	if err != nil {
		return err
	}
	add, err := into.OpenImage(s, image)
	if err != nil {
		return err
	}
	add()
	return nil
}

// compress returns an image as a zstd frame: half of its bytes, and a third with symbols. It costs 5
// ns a byte. If the frame is not smaller, or so much that a reader would refuse it, the image stays
// as it is.
func (d *Dir) compress(image []byte) []byte {
	if d.encoder == nil {
		d.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // no option is invalid
	}
	frame := d.encoder.EncodeAll(image, nil)
	if len(frame) >= len(image) || len(image) > mostSmaller*len(frame) {
		return image
	}
	return frame
}

// mostSmaller bounds how much smaller a frame is than its image, and so the memory for a hostile one.
// Frames of real dictionaries are far from it.
const mostSmaller = 1 << 10

// decoder decodes a frame as far as there is room for its image. It is safe for concurrent use.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)) // no option is invalid
	return d
})

// decompress returns the image of a frame, which has so many bytes; as many as the frame if it is
// the image itself.
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
