package file

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/tile"
)

// Reader is a history in a file, as the last Sync left it. Any number of goroutines may read it.
type Reader struct {
	// View is the history. Its queries read the blocks that they need, and return an error for a block
	// that cannot be read or is damaged (*DamagedError). Other queries still answer.
	View *history.View
	// Lost is the number of bytes behind the last whole Sync: writes that a killed writer had not
	// synced, or the end of a file that was cut or damaged there. 0 after Close.
	Lost int64
	// Note is Writer.Note at that Sync.
	Note []byte

	file
}

// Open opens a file for reading. It reads the index: names, texts and directories, at some 0.3 us an
// attribute and 0.1 us a tile. Nothing is locked, so a file that is being written can be opened, as the
// last Sync left it.
//
// The errors are ErrFormat, fs.ErrNotExist, those of the file system and of opts.History.Reserve, and
// *DamagedError for a file that is not a history, or whose last index is damaged.
func Open(path string, opts Options) (*Reader, error) {
	f, err := opts.open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: *f}
	if err := r.open(&opts); err != nil {
		return nil, errors.Join(err, f.disk.Close())
	}
	return r, nil
}

// Provider returns a file's provider. A program that shows other programs' files passes it to Open. It
// reads only the header, and ignores the provider in opts. It returns the errors of Open, for the header.
func Provider(path string, opts Options) (provider string, err error) {
	f, err := opts.open(path)
	if err != nil {
		return "", err
	}
	provider, err = f.readHeader()
	return provider, errors.Join(err, f.disk.Close())
}

// open opens a file for reading.
func (o *Options) open(path string) (*file, error) {
	fs, name := o.find(path)
	f, err := fs.Open(name)
	return &file{disk: f, name: name}, err
}

func (r *Reader) open(opts *Options) error {
	size, err := r.disk.Size()
	if err != nil {
		return err
	}
	made, err := r.readHeader()
	switch {
	case err != nil:
		return err
	case made != opts.Provider:
		return fmt.Errorf("%s: %w: it is of provider %q, not %q", r.name, ErrFormat, made, opts.Provider)
	}
	e, at, err := r.findEnd(size)
	if err != nil {
		return err
	}
	r.Lost = size - at - endSize
	raw, err := r.readIndex(e, at)
	if err != nil {
		return err
	}
	index := fields.NewReader(raw, tile.ErrTile)
	if err := r.readBlocks(&index, e.offset); err != nil {
		return r.damaged(e.offset, err.Error())
	}
	r.Note = bytes.Clone(index.Text("note", index.Left()))
	if r.readAside(&index, e.offset); index.Err() != nil {
		return r.damaged(e.offset, index.Err().Error())
	}
	pages := opts.pages()
	pages.Read = func(number int, into []byte) error { return r.readBlock(r.blocks[number], into) }
	pages.Grow(len(r.blocks))
	o := opts.History
	o.Pages = pages
	_, r.View, err = history.OpenImage(o, index.Peek())
	if errors.Is(err, history.ErrImage) {
		return r.damaged(e.offset, err.Error())
	}
	return err
}

// findEnd returns the last whole end, and its place.
func (r *Reader) findEnd(size int64) (e end, at int64, err error) {
	b := make([]byte, 64<<10)
	for hi := size; hi >= endSize; {
		lo := max(0, hi-int64(len(b))) &^ 7
		part := b[:min(int64(len(b)), hi-lo)]
		if _, err := r.disk.ReadAt(part, lo); err != nil {
			return e, 0, fmt.Errorf("%s: %d bytes at byte %d: %w", r.name, len(part), lo, err)
		}
		for i := (len(part) - endSize) &^ 7; i >= 0; i -= 8 {
			if e, ok := endAt(part[i:i+endSize], r.id, lo+int64(i)); ok {
				return e, lo + int64(i), nil
			}
		}
		if lo == 0 {
			break
		}
		hi = lo + endSize - 8
	}
	return e, 0, r.damaged(0, "no end is whole")
}

// readIndex returns the index of the end at an offset.
func (r *Reader) readIndex(e end, at int64) ([]byte, error) {
	if e.offset < headerSize || e.length < 0 || e.offset > at-e.length || e.raw < e.length || e.raw/mostRatio > e.length {
		return nil, r.damaged(at, "the end names no index")
	}
	return r.readWhole(e, "index")
}

// readWhole returns the bytes at a place.
func (r *Reader) readWhole(e end, what string) ([]byte, error) {
	data := make([]byte, e.length)
	if _, err := r.disk.ReadAt(data, e.offset); err != nil {
		return nil, fmt.Errorf("%s: %s at byte %d: %w", r.name, what, e.offset, err)
	}
	if sum(data) != e.sum {
		return nil, r.damaged(e.offset, "the checksum of the "+what+" is wrong")
	}
	if e.raw == e.length {
		return data, nil
	}
	raw := make([]byte, e.raw)
	if err := expand(data, raw); err != nil {
		return nil, r.damaged(e.offset, err.Error())
	}
	return raw, nil
}

// readBlocks reads the blocks' places, which are below most.
func (r *Reader) readBlocks(index *fields.Reader, most int64) error {
	index.In("blocks")
	n, last := index.Count("blocks", 4), int64(0)
	for range n {
		at := last + int64(index.Uint("offset", uint64(most)))
		b := block{offset: at, length: int(index.Uint("length", tile.ChunkBytes))}
		b.raw = b.length + int(index.Uint("compressed away", uint64(tile.ChunkBytes-b.length)))
		b.sum = uint32(index.Uint("sum", math.MaxUint32))
		if last = at + int64(b.length); last > most {
			index.Failf("a block up to byte %d of %d", last, most)
		}
		if index.Err() != nil {
			return index.Err()
		}
		r.blocks = append(r.blocks, b)
	}
	return index.Err()
}

// readAside reads the block Aside's place, which is below most.
func (r *Reader) readAside(index *fields.Reader, most int64) {
	index.In("aside")
	e := end{length: int64(index.Uint("length", uint64(most)))}
	if e.length == 0 {
		return
	}
	e.offset = int64(index.Uint("offset", uint64(most-e.length)))
	e.raw = e.length + int64(index.Uint("compressed away", uint64(e.length)*(mostRatio-1)))
	e.sum = uint32(index.Uint("sum", math.MaxUint32))
	r.aside = e
}

// Aside returns Writer.Aside at that Sync, nil if there was none. The bytes belong to the caller. The error
// is *DamagedError for only these bytes, or comes from reading them.
func (r *Reader) Aside() ([]byte, error) {
	if r.aside.length == 0 {
		return nil, nil
	}
	return r.readWhole(r.aside, "aside")
}

// Blocks returns the number of blocks, their bytes in the file, and their bytes in memory.
func (r *Reader) Blocks() (number int, bytes, raw int64) {
	for _, b := range r.blocks {
		bytes, raw = bytes+int64(b.length), raw+int64(b.raw)
	}
	return len(r.blocks), bytes, raw
}

// VerifyBlock reads block `number`, from 0 on, and returns an error if it is damaged (*DamagedError) or
// cannot be read. The view keeps the blocks that it has in memory.
func (r *Reader) VerifyBlock(number int) error {
	return r.readBlock(r.blocks[number], make([]byte, tile.ChunkBytes))
}

// Verify reads all blocks and Aside, and returns the joined errors of damaged or unreadable blocks. It
// costs a read of the file.
func (r *Reader) Verify() error {
	var all []error
	for i := range r.blocks {
		all = append(all, r.VerifyBlock(i))
	}
	_, err := r.Aside()
	all = append(all, err)
	return errors.Join(all...)
}

// Close closes the file. Queries that need a block return an error from then on.
func (r *Reader) Close() error { return r.disk.Close() }
